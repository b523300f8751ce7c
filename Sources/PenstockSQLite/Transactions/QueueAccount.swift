import PenstockCore
import PenstockProcesses

/// By how much a transaction changes a queue's depths and totals.
struct DepthChange: Equatable {
    var scheduled: Int64 = 0
    var ready: Int64 = 0
    var leased: Int64 = 0
    var dead: Int64 = 0
    var kept: Int64 = 0
    var enqueuedTotal: Int64 = 0
    var doneTotal: Int64 = 0
    var deadTotal: Int64 = 0
    var droppedTotal: Int64 = 0
    var cancelledTotal: Int64 = 0
    var retriedTotal: Int64 = 0
    var reclaimedTotal: Int64 = 0

    /// By how much the number of waiting messages changes.
    var waiting: Int64 { scheduled + ready }

    /// Counts `count` messages more, or fewer, in `state`.
    mutating func count(_ state: MessageState, _ count: Int64) {
        switch state {
        case .scheduled: scheduled += count
        case .ready: ready += count
        case .leased: leased += count
        case .dead: dead += count
        case .done, .dropped, .cancelled: kept += count
        }
    }

    /// Counts one message that came to its end.
    mutating func countEnd(_ state: MessageState) {
        switch state {
        case .done: doneTotal += 1
        case .dead: deadTotal += 1
        case .dropped: droppedTotal += 1
        case .cancelled: cancelledTotal += 1
        case .scheduled, .ready, .leased: break
        }
    }
}

/// One queue within one transaction: its policy, and what the transaction has changed so far.
final class QueueAccount {
    let id: Int64
    let name: QueueName
    let isPaused: Bool
    let isDeleting: Bool
    let policy: QueuePolicy
    var change = DepthChange()
    /// What to ring for once this is committed; `nil`: nothing.
    var ring: Ring?
    private var waitingBefore: Int64?

    init(_ row: QueueRow) {
        id = row.id
        name = row.name
        isPaused = row.isPaused
        isDeleting = row.isDeleting
        policy = row.policy
    }

    /// Throws `queueDeleting` when the queue's deletion has begun: what it took now would be deleted with the rest.
    func refuseDeleting() throws {
        guard isDeleting else { return }
        throw PenstockError(
            .queueDeleting,
            "The queue '\(name)' is being deleted; wait until it is gone, or finish it with `penstock queue delete`.")
    }

    /// Whether producers may be waiting for room: those that the queue keeps out while it is full.
    var hasWaitingProducers: Bool { policy.capacity?.whenFull == .wait || policy.capacity?.whenFull == .fail }

    /// Rings once this is committed, as so many messages more can be claimed.
    func ring(messages: Int) {
        ring = Ring(messages: (ring?.messages ?? 0) + messages, isForAll: ring?.isForAll ?? false)
    }

    /// Whether `count` messages more are within the capacity. Reads the depth on the first call only.
    func hasRoom(for count: Int, _ connection: Connection) throws -> Bool {
        guard let capacity = policy.capacity else { return true }
        let before: Int64
        if let known = waitingBefore {
            before = known
        } else {
            before = try connection.first(Self.readWaiting, .integer(id)) { $0.integer(0) } ?? 0
            waitingBefore = before
        }
        return before + change.waiting + Int64(count) <= Int64(capacity.count)
    }

    func writeDown(_ connection: Connection) throws {
        if change == DepthChange() { return }
        try connection.run(
            Self.write, .integer(id), .integer(change.scheduled), .integer(change.ready), .integer(change.leased),
            .integer(change.dead), .integer(change.kept), .integer(change.enqueuedTotal), .integer(change.doneTotal),
            .integer(change.deadTotal), .integer(change.droppedTotal), .integer(change.cancelledTotal),
            .integer(change.retriedTotal), .integer(change.reclaimedTotal))
        waitingBefore = nil
        change = DepthChange()
    }

    private static let readWaiting = Query("SELECT scheduled + ready FROM penstock_depth WHERE queue_id = ?1")
    private static let write = Query(
        """
        UPDATE penstock_depth SET
            scheduled = scheduled + ?2, ready = ready + ?3, leased = leased + ?4, dead = dead + ?5, kept = kept + ?6,
            enqueued_total = enqueued_total + ?7, done_total = done_total + ?8, dead_total = dead_total + ?9,
            dropped_total = dropped_total + ?10, cancelled_total = cancelled_total + ?11,
            retried_total = retried_total + ?12, reclaimed_total = reclaimed_total + ?13
        WHERE queue_id = ?1
        """)
}
