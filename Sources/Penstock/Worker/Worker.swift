internal import PenstockCore
public import ServiceLifecycle

/// Works the messages of a queue, or of several, with a handler, some at a time: a `Service` for a `ServiceGroup`, or a plain `run()`.
///
/// What a handler does decides about its message:
///
/// | the handler | the message |
/// |---|---|
/// | returns | is done |
/// | throws | comes back as the queue's policy says, with the error on record; a dead letter when attempts are used up |
/// | throws ``RetryAfter`` | comes back after that delay |
/// | throws ``Reject`` | is a dead letter at once |
/// | throws ``Suspension`` | goes on at a moment or with an event; the attempt does not count |
/// | runs longer than the timeout | its handler is cancelled, and it comes back as after an error |
/// | settles the delivery itself | is what the handler said |
///
/// The leases of all running handlers are extended together, in one call every third of a lease. A handler whose lease
/// was lost all the same, because somebody cancelled the message or the store could not be reached, is cancelled, and
/// what it gives is ignored.
///
/// - Graceful shutdown claims nothing more, waits up to ``Options/grace`` for the handlers that run, and then cancels
///   them and gives their messages back at once.
/// - Cancelling the task that runs `run()` does the latter without the wait.
/// - A handler that ignores its cancellation is no obstacle for its message, which another worker gets at once. But it
///   cannot be killed: `run()` returns only when it has.
///
/// ```swift
/// let worker = Worker(orders, options: .init(concurrency: 4)) { delivery in
///     try await ship(delivery.payload)
/// }
/// try await ServiceGroup(services: [worker], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
public struct Worker<Element: Sendable>: Service {
    /// What a worker can be told.
    public struct Options: Sendable {
        /// How many handlers may run at once, 1 to `Limits.batchCountMax`.
        public var concurrency: Int
        /// How much work to claim beyond the handlers that are free, going by how long handlers have taken lately, from
        /// nothing to a second. With the 2 milliseconds that it is unless set, handlers that take microseconds do not
        /// wait for the store after each message, and for handlers that take longer nothing is claimed ahead. What was
        /// claimed ahead is leased, and is given back when no handler was free for it in ten times as long.
        public var ahead: Duration
        /// How long a lease lasts, within `Limits.leaseRange`. It is extended while the handler runs, so this is no
        /// bound on the work, only on how long a message stays away when this process hangs.
        public var lease: Duration
        /// How long a handler may run; `nil`: as long as it likes. After that it is cancelled, and its lease no longer
        /// extended: should it ignore the cancellation, its message is back when the lease ends.
        public var timeout: Duration?
        /// How long a graceful shutdown waits for handlers that run.
        public var grace: Duration
        /// How many messages to work before `run()` returns; `nil`: any number.
        public var max: Int?
        /// Whether `run()` returns when a claim finds nothing and no handler runs. Messages that are due later do not
        /// hold it up, those included that this worker's handlers failed and that come back; nor do those of a queue
        /// that is paused or being deleted, or those that wait for the rate of their group. It stays for ready ones that a limit or the queue's rate keeps back.
        public var drain: Bool
        /// The kinds of messages that this worker works; `nil`: all, and messages of no kind.
        ///
        /// A message of another kind, or of none, waits for a worker that knows its kind, as when a new version of a program has
        /// begun to enqueue it and not all workers are new. It is `scheduled` meanwhile, no attempt is counted, and no handler is
        /// held up. The next worker that has room looks at it again when it has waited for as long again as it has since it was
        /// enqueued, for 100 milliseconds at least and a minute at most. So a worker that knows its kind, once those that do not
        /// are gone, has it after a minute at the latest.
        public var kinds: Set<String>?

        /// Makes options: all kinds, one handler at a time, 2 milliseconds of work claimed ahead, leases of 30 seconds, 30 seconds of grace, and no end.
        public init(
            concurrency: Int = 1,
            ahead: Duration = .milliseconds(2),
            lease: Duration = .seconds(30),
            timeout: Duration? = nil,
            grace: Duration = .seconds(30),
            max: Int? = nil,
            drain: Bool = false,
            kinds: Set<String>? = nil
        ) {
            self.concurrency = concurrency
            self.ahead = ahead
            self.lease = lease
            self.timeout = timeout
            self.grace = grace
            self.max = max
            self.drain = drain
            self.kinds = kinds
        }

        func validate() throws(PenstockError) {
            try ReaderLimits(inFlightMax: concurrency, lease: lease).validate()
            if let timeout, timeout <= .zero {
                throw PenstockError(.invalidInput, "A worker's timeout must be longer than nothing.")
            }
            guard ahead >= .zero, ahead <= .seconds(1) else {
                throw PenstockError(
                    .invalidInput, "A worker can claim ahead for a second at most, and not for less than none.")
            }
            guard grace >= .zero else { throw PenstockError(.invalidInput, "A worker's grace cannot be negative.") }
            if let max, max < 1 {
                throw PenstockError(.invalidInput, "A worker works at least one message; leave max out for no end.")
            }
            if let kinds, kinds.isEmpty {
                throw PenstockError(.invalidInput, "A worker knows at least one kind; leave kinds out for all.")
            }
            for kind in kinds ?? [] { _ = try KindName(kind) }
        }
    }

    /// Works on one message.
    public typealias Handler = @Sendable (Delivery<Element>) async throws -> Void

    private let queues: [Queue<Element>]
    private let order: QueueOrder
    private let options: Options
    private let handler: Handler
    /// Where the handler comes from, if it is chosen by a message's kind.
    var handlers: Handlers?
    /// Tells somebody beside the worker whether it has messages in its hands.
    package var heldLeases: HeldLeases?

    /// Makes a worker. It does nothing before ``run()``.
    public init(_ queue: Queue<Element>, options: Options = Options(), handler: @escaping Handler) {
        self.init([queue], options: options, handler: handler)
    }

    /// Makes a worker of several queues of one store, whose messages share its ``Options/concurrency``; ``Delivery/queue`` says from
    /// which queue each one is. It does nothing before ``run()``.
    ///
    /// ```swift
    /// let worker = Worker([mails, texts], order: .weighted([3, 1]), options: .init(concurrency: 8)) { delivery in
    ///     try await send(delivery.payload)
    /// }
    /// ```
    ///
    /// What happens to one of the queues is no matter of the others: one that is paused or being deleted gives nothing, and the log has a
    /// warning of the latter. One that is gone is told in the log and looked for every five seconds; when all are gone, the worker ends with that error.
    ///
    /// - Parameters:
    ///   - queues: each once.
    ///   - order: whose messages begin first.
    ///   - options: those of the worker, for all queues together.
    ///   - handler: works on one message.
    public init(
        _ queues: [Queue<Element>], order: QueueOrder = .strict, options: Options = Options(),
        handler: @escaping Handler
    ) {
        self.queues = queues
        self.order = order
        self.options = options
        self.handler = handler
    }

    /// Works until a graceful shutdown, ``Options/max`` or ``Options/drain`` ends it. No handler runs any more when it
    /// returns or throws, and no message is held.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when an option is out of its range, or the queues are none, the same
    ///   one twice, or of two stores; what the store threw at a claim, after a graceful shutdown; `CancellationError` when the task
    ///   is cancelled.
    public func run() async throws {
        try handlers?.validate()
        try options.validate()
        try validateQueues()
        let run = WorkerRun(queues: queues, order: order, options: options, handler: handler)
        heldLeases?.watch(run.inFlight)
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await run.run()
        } onCancelOrGracefulShutdown: {
            run.stop()
        }
    }

    private func validateQueues() throws(PenstockError) {
        guard let first = queues.first else {
            throw PenstockError(.invalidInput, "A worker works at least one queue.")
        }
        var names: Set<QueueName> = []
        for queue in queues {
            guard names.insert(queue.name).inserted else {
                throw PenstockError(
                    .invalidInput, "The queue '\(queue.name)' is given twice; a worker has each queue once.")
            }
            guard queue.handle === first.handle else {
                throw PenstockError(
                    .invalidInput,
                    "The queues '\(first.name)' and '\(queue.name)' are of two stores; make a worker for each store.")
            }
        }
        try order.validate(count: queues.count)
    }
}
