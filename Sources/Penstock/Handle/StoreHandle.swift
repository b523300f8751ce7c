internal import Logging
internal import Metrics
internal import PenstockCore
internal import Synchronization
internal import Tracing

/// What all copies of a `PenstockStore`, and everything made from it, share.
final class StoreHandle: Sendable {
    let storage: any MessageStore
    let time: any TimeSource
    let random: any RandomSource
    let durability: Durability
    let logger: Logger
    /// When to look for lost work: twice a second at most, however many wait for messages.
    let reclaimGate: RateGate
    /// When to forget what retention lets go: once a minute at most, however many workers there are.
    let pruneGate: RateGate
    let deletionNotice: DeletionNotice
    /// `nil`: nobody traces.
    let tracing: MessageTracing?
    let lines = ProducerLines()
    let backgroundTasks = BackgroundTasks()

    private let metricsFactory: (any MetricsFactory)?
    private let metricsByQueue = Mutex<[QueueName: QueueMetrics]>([:])

    init(
        _ storage: any MessageStore, time: any TimeSource, random: any RandomSource, durability: Durability,
        logger: Logger?, metrics: (any MetricsFactory)?, tracer: (any Tracer)?
    ) {
        self.storage = storage
        self.time = time
        self.random = random
        self.durability = durability
        let logger = logger ?? Logger(label: "penstock", factory: { _ in SwiftLogNoOpLogHandler() })
        self.logger = logger
        reclaimGate = RateGate(RateGate.reclaimInterval, time: time)
        pruneGate = RateGate(RateGate.pruneInterval, time: time)
        deletionNotice = DeletionNotice(storage, time: time, logger: logger)
        metricsFactory = metrics
        tracing = MessageTracing(tracer)
    }

    /// Returns when there may be room in `queue`, which was full: it may have changed since `token` was taken, or a message that
    /// waits there has expired.
    func waitForRoom(in queue: QueueName, after token: Wakeups.Token) async throws {
        try await waitForChange(of: queue, after: token, orAt: storage.nextExpiry(of: queue))
    }

    /// Returns when `queue` may have changed since `token` was taken, and at `moment`.
    func waitForChange(of queue: QueueName, after token: Wakeups.Token, orAt moment: Timestamp? = nil) async throws {
        let look = storage.lookInterval
        let interval = moment.map { min(max(.zero, $0 - time.now), look) } ?? look
        try await firstOf([
            { [storage] in try await storage.changes.wait(for: queue, after: token) },
            { [time] in try await time.sleep(for: interval) },
        ])
    }

    /// Tells of rows that a claim has set aside: nobody works a message that was in line by such a row alone.
    func tell(of setAside: [SetAsideRow]) {
        for row in setAside {
            var metadata: Logger.Metadata = ["sequence": "\(row.sequence)", "reason": "\(row.reason)"]
            if let queue = row.queue { metadata["queue"] = "\(queue)" }
            logger.warning(
                "row set aside, as it contradicts the rest of the store; `penstock doctor` says more",
                metadata: metadata)
        }
    }

    /// The queue's measurements; made once, as making them costs more than using them.
    func metrics(of queue: QueueName) -> QueueMetrics {
        if let known = metricsByQueue.withLock({ $0[queue] }) { return known }
        // Not under the lock: the factory is the program's, and may use the store.
        let made = QueueMetrics(queue: queue, factory: metricsFactory ?? MetricsSystem.factory)
        return metricsByQueue.withLock { metrics in
            // Of two threads that make them at once all have those of the first.
            let first = metrics[queue] ?? made
            metrics[queue] = first
            return first
        }
    }
}

/// Giving messages back that were claimed and that nobody works on.
extension StoreHandle {
    /// Releases leases of messages that nobody has got, in a task of the store's own, for a `deinit`, which cannot wait.
    func beginRelease(_ leases: [Lease]) {
        if leases.isEmpty { return }
        backgroundTasks.begin { await self.settleReleased(leases) }
    }

    /// Releases leases of messages that nobody has got, also for a task that is cancelled, and returns when that is done.
    func release(_ leases: [Lease]) async {
        if leases.isEmpty { return }
        await ownTask { await self.settleReleased(leases) }.value
    }

    private func settleReleased(_ leases: [Lease]) async {
        do {
            _ = try await storage.settle(leases.map(Settlement.unbegun))
        } catch {
            // Not lost: the leases end by themselves, or with the process.
            logger.warning("messages not given back", metadata: ["count": "\(leases.count)", "error": "\(error)"])
        }
    }
}
