extension Publisher where Self: SendableMetatype {
    /// Gives each value, and the finish, `interval` after it came.
    ///
    /// It does as `exactDelay(for:tolerance:scheduler:options:)`, and takes the place of Combine's own wherever
    /// `PenstockCombine` is imported, as `buffer(size:prefetch:whenFull:)` does.
    ///
    /// - Parameters:
    ///   - interval: how much later.
    ///   - tolerance: how much later still where that saves energy; `nil` leaves it to the scheduler.
    ///   - scheduler: tells the time, and gives the values.
    ///   - options: what the scheduler is told besides.
    @inlinable public func delay<Context: Scheduler>(
        for interval: Context.SchedulerTimeType.Stride,
        tolerance: Context.SchedulerTimeType.Stride? = nil,
        scheduler: Context,
        options: Context.SchedulerOptions? = nil
    ) -> Publishers.ExactDelay<Self, Context> {
        exactDelay(for: interval, tolerance: tolerance, scheduler: scheduler, options: options)
    }
}

extension Publisher {
    /// Gives each value, and the finish, `interval` after it came.
    ///
    /// It stands beside Combine's own so that neither is chosen in silence where the compiler knows too little of the
    /// publisher to prefer the exact one.
    @inlinable public func delay<Context: Scheduler>(
        for interval: Context.SchedulerTimeType.Stride,
        tolerance: Context.SchedulerTimeType.Stride? = nil,
        scheduler: Context,
        options: Context.SchedulerOptions? = nil
    ) -> Publishers.ExactDelay<Self, Context> {
        exactDelay(for: interval, tolerance: tolerance, scheduler: scheduler, options: options)
    }
}
