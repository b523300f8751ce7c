internal import Metrics
internal import PenstockCore

/// What is measured of one queue in this process, under the names that ``PenstockStore/Options/metrics`` tells.
final class QueueMetrics: Sendable {
    let enqueued: Counter
    let skipped: Counter
    let dropped: Counter
    let claimed: Counter
    let done: Counter
    let retried: Counter
    let dead: Counter
    let released: Counter
    let suspended: Counter
    let leaseLost: Counter
    let storeErrors: Counter
    let wait: Timer
    let work: Timer
    let running: Meter
    private let readyAge: Gauge
    private let leaseAge: Gauge
    private let depths: (pending: Gauge, scheduled: Gauge, blocked: Gauge, ready: Gauge, leased: Gauge, dead: Gauge)

    init(queue: QueueName, factory: any MetricsFactory) {
        let dimensions = [("queue", queue.text)]
        func counter(_ name: String) -> Counter {
            Counter(label: "penstock.\(name)", dimensions: dimensions, factory: factory)
        }
        func timer(_ name: String) -> Timer {
            Timer(label: "penstock.\(name)", dimensions: dimensions, factory: factory)
        }
        func depth(_ state: MessageState) -> Gauge {
            Gauge(label: "penstock.depth", dimensions: dimensions + [("state", state.rawValue)], factory: factory)
        }
        enqueued = counter("enqueued")
        skipped = counter("skipped")
        dropped = counter("dropped")
        claimed = counter("claimed")
        done = counter("done")
        retried = counter("retried")
        dead = counter("dead")
        released = counter("released")
        suspended = counter("suspended")
        leaseLost = counter("lease_lost")
        storeErrors = counter("store_errors")
        wait = timer("wait")
        work = timer("work")
        running = Meter(label: "penstock.running", dimensions: dimensions, factory: factory)
        readyAge = Gauge(label: "penstock.ready_age", dimensions: dimensions, factory: factory)
        leaseAge = Gauge(label: "penstock.lease_age", dimensions: dimensions, factory: factory)
        depths = (
            depth(.pending), depth(.scheduled), depth(.blocked), depth(.ready), depth(.leased), depth(.dead)
        )
    }

    /// Counts what `enqueue` answered; the receipts are those of the first messages.
    func record(_ receipts: [Receipt], of messages: some Collection<NewMessage>) {
        let skippedCount = receipts.count { $0.skipped }
        let droppedCount = zip(receipts, messages).count { receipt, message in
            if receipt.skipped { return false }
            // What a message with a unique key displaces may have been replaced instead; that is no drop.
            let displacedByOverflow = receipt.displaced != nil && message.uniqueKey?.onConflict ?? .skip == .skip
            return receipt.state == .dropped || displacedByOverflow
        }
        if receipts.count > skippedCount { enqueued.increment(by: receipts.count - skippedCount) }
        if skippedCount > 0 { skipped.increment(by: skippedCount) }
        if droppedCount > 0 { dropped.increment(by: droppedCount) }
    }

    /// Counts what a claim gave, and how long these messages had waited.
    func recordClaim(of messages: [ClaimedMessage], at now: Timestamp) {
        if messages.isEmpty { return }
        claimed.increment(by: messages.count)
        for message in messages { wait.recordMicroseconds((now - message.enqueuedAt).wholeMicroseconds) }
    }

    func record(_ verdict: Verdict, _ result: SettleResult) {
        switch result {
        case .leaseLost: leaseLost.increment()
        case .settled(.done): done.increment()
        case .settled(.dead): dead.increment()
        case .settled:
            switch verdict {
            case .release: released.increment()
            case .suspend: suspended.increment()
            default: retried.increment()
            }
        }
    }

    /// Records how many messages are in each state, and how long the oldest are.
    func record(_ status: QueueStatus, at now: Timestamp) {
        depths.pending.record(status.depths.pending)
        depths.scheduled.record(status.depths.scheduled)
        depths.blocked.record(status.depths.blocked)
        depths.ready.record(status.depths.ready)
        depths.leased.record(status.depths.leased)
        depths.dead.record(status.depths.dead)
        func seconds(since moment: Timestamp?) -> Double {
            moment.map { max(0, Double((now - $0).wholeMicroseconds) / 1_000_000) } ?? 0
        }
        readyAge.record(seconds(since: status.oldestReady))
        leaseAge.record(seconds(since: status.oldestLease))
    }
}
