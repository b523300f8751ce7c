extension Publishers {
    /// A publisher that gives the values and the finish of another one later.
    /// Made by `exactDelay(for:tolerance:scheduler:options:)`, whose description holds for it.
    public struct ExactDelay<Upstream: Publisher, Context: Scheduler>: Publisher {
        /// What upstream publishes.
        public typealias Output = Upstream.Output
        /// How upstream fails.
        public typealias Failure = Upstream.Failure

        private let upstream: Upstream
        private let interval: Context.SchedulerTimeType.Stride
        private let tolerance: Context.SchedulerTimeType.Stride?
        private let scheduler: Context
        private let options: Context.SchedulerOptions?

        init(
            _ upstream: Upstream, interval: Context.SchedulerTimeType.Stride,
            tolerance: Context.SchedulerTimeType.Stride?, scheduler: Context, options: Context.SchedulerOptions?
        ) {
            self.upstream = upstream
            self.interval = interval
            self.tolerance = tolerance
            self.scheduler = scheduler
            self.options = options
        }

        /// Begins a subscription, which is not delayed.
        public func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == Output, Downstream.Failure == Failure {
            let conduit = DelayConduit(subscriber) { [interval, tolerance, scheduler, options] action in
                scheduler.schedule(
                    after: scheduler.now.advanced(by: interval), tolerance: tolerance ?? scheduler.minimumTolerance,
                    options: options, action)
            }
            upstream.subscribe(conduit)
        }
    }
}

extension Publisher {
    /// Gives each value, and the finish, `interval` after it came, by the rules of iOS 13.
    ///
    /// Combine's own operator since iOS 14, and the open port's, delay failures, too, and end after a cancellation that comes
    /// between upstream's finish and the delayed one. A program that imports PenstockCombine has this one by the name of
    /// `delay`, too.
    ///
    /// - Moves neither the subscription nor the demand: what the subscriber asks for, upstream is asked for at once. As
    ///   many values are held as the subscriber asked for and have not come yet.
    /// - Keeps the order, whatever the scheduler.
    /// - Fails as soon as upstream does: values that are held are let go.
    ///
    /// - Parameters:
    ///   - interval: how much later.
    ///   - tolerance: how much later still where that saves energy; `nil` leaves it to the scheduler.
    ///   - scheduler: tells the time, and gives the values.
    ///   - options: what the scheduler is told besides.
    public func exactDelay<Context: Scheduler>(
        for interval: Context.SchedulerTimeType.Stride,
        tolerance: Context.SchedulerTimeType.Stride? = nil,
        scheduler: Context,
        options: Context.SchedulerOptions? = nil
    ) -> Publishers.ExactDelay<Self, Context> {
        Publishers.ExactDelay(self, interval: interval, tolerance: tolerance, scheduler: scheduler, options: options)
    }
}
