internal import Logging
internal import Metrics
internal import PenstockCore
internal import Synchronization

/// What all copies of a `PenstockStore`, and everything made from it, share.
final class StoreHandle: Sendable {
    let storage: any MessageStore
    let time: any TimeSource
    let durability: Durability
    let logger: Logger
    let reclaimPace: ReclaimPace
    let lines = ProducerLines()
    let returns: Returns

    private let metricsFactory: (any MetricsFactory)?
    private let metricsByQueue = Mutex<[QueueName: QueueMetrics]>([:])

    init(_ storage: any MessageStore, options: PenstockStore.Options) {
        self.storage = storage
        time = options.time
        durability = options.durability
        logger = options.logger ?? Logger(label: "penstock", factory: { _ in SwiftLogNoOpLogHandler() })
        reclaimPace = ReclaimPace(time: options.time)
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

/// Says when this process should look for lost work again. All who wait for messages share one, so that many of them
/// do not look more often than one.
final class ReclaimPace: Sendable {
    static let interval = Duration.milliseconds(500)

    private let time: any TimeSource
    private let last = Mutex<BootTime?>(nil)

    init(time: any TimeSource) {
        self.time = time
    }

    /// Whether a look is due. Who is told so must look: nobody else is told for the interval.
    func takesTurn() -> Bool {
        let now = time.boot
        return last.withLock { last in
            if let last, last.bootID == now.bootID,
                now.microseconds - last.microseconds < Self.interval.wholeMicroseconds
            {
                return false
            }
            last = now
            return true
        }
    }
}
