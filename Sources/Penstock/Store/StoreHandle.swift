internal import Logging
internal import Metrics
internal import PenstockCore
internal import Synchronization

/// What all copies of a `PenstockStore`, and everything made from it, share.
final class StoreHandle: Sendable {
    let storage: any MessageStore
    let time: any TimeSource
    let random: any RandomSource
    let durability: Durability
    let logger: Logger
    /// When to look for lost work: twice a second at most, however many wait for messages.
    let reclaimPace: Pace
    /// When to forget what retention lets go: once a minute at most, however many workers there are.
    let prunePace: Pace
    let lines = ProducerLines()
    let returns: Returns
    let chores = Chores()

    private let metricsFactory: (any MetricsFactory)?
    private let metricsByQueue = Mutex<[QueueName: QueueMetrics]>([:])

    init(_ storage: any MessageStore, options: PenstockStore.Options) {
        self.storage = storage
        time = options.time
        random = options.random
        durability = options.durability
        logger = options.logger ?? Logger(label: "penstock", factory: { _ in SwiftLogNoOpLogHandler() })
        reclaimPace = Pace(Pace.ofReclaiming, time: options.time)
        prunePace = Pace(Pace.ofPruning, time: options.time)
        metricsFactory = options.metrics
        returns = Returns(storage: storage, logger: logger)
    }

    /// The queue's measurements; made once, as making them costs more than using them.
    func metrics(of queue: QueueName) -> QueueMetrics {
        metricsByQueue.withLock { metrics in
            if let made = metrics[queue] { return made }
            let made = QueueMetrics(queue: queue, factory: metricsFactory ?? MetricsSystem.factory)
            metrics[queue] = made
            return made
        }
    }
}
