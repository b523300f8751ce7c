extension Publishers {
    /// A publisher that gives the values and the finish of another one later.
    /// Made by `exactDelay(for:tolerance:scheduler:options:)`, whose description holds for it.
    public struct ExactDelay<Upstream: Publisher, Context: Scheduler>: Publisher {
        /// What upstream publishes.
        public typealias Output = Upstream.Output
        /// How upstream fails.
        public typealias Failure = Upstream.Failure

        @usableFromInline let upstream: Upstream
        /// Makes what stands between upstream and a subscriber.
        @usableFromInline let connect: (AnySubscriber<Output, Failure>) -> AnySubscriber<Output, Failure>

        @inlinable init(_ upstream: Upstream, _ flow: DelayFlow<Context>) {
            self.upstream = upstream
            connect = { DelayConduit($0, flow).asSubscriber }
        }

        /// Begins a subscription, which is not delayed.
        public func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == Output, Downstream.Failure == Failure {
            upstream.subscribe(connect(AnySubscriber(subscriber)))
        }
    }
}

/// How much later, and by which scheduler.
@usableFromInline
struct DelayFlow<Context: Scheduler> {
    @usableFromInline let interval: Context.SchedulerTimeType.Stride
    @usableFromInline let tolerance: Context.SchedulerTimeType.Stride?
    @usableFromInline let scheduler: Context
    @usableFromInline let options: Context.SchedulerOptions?

    @inlinable
    init(
        interval: Context.SchedulerTimeType.Stride, tolerance: Context.SchedulerTimeType.Stride?, scheduler: Context,
        options: Context.SchedulerOptions?
    ) {
        self.interval = interval
        self.tolerance = tolerance
        self.scheduler = scheduler
        self.options = options
    }

    /// When something that comes now is due.
    @inlinable var due: Context.SchedulerTimeType { scheduler.now.advanced(by: interval) }

    @inlinable func schedule(_ moment: Context.SchedulerTimeType, _ action: @escaping () -> Void) {
        scheduler.schedule(
            after: moment, tolerance: tolerance ?? scheduler.minimumTolerance, options: options, action)
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
    @inlinable public func exactDelay<Context: Scheduler>(
        for interval: Context.SchedulerTimeType.Stride,
        tolerance: Context.SchedulerTimeType.Stride? = nil,
        scheduler: Context,
        options: Context.SchedulerOptions? = nil
    ) -> Publishers.ExactDelay<Self, Context> {
        Publishers.ExactDelay(
            self, DelayFlow(interval: interval, tolerance: tolerance, scheduler: scheduler, options: options))
    }
}
