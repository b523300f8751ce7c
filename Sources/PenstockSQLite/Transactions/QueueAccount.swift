import PenstockCore
import PenstockProcesses

/// By how much a transaction changes a queue's depths and totals.
struct DepthChange: Equatable {
    var pending: Int64 = 0
    var scheduled: Int64 = 0
    var ready: Int64 = 0
    /// Whether ``ready`` is how many there are, and not by how many there are more.
    var isReadyKnown = false
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

    /// Notes that no ready message is left. So a depth that was wrong is right again whenever a queue runs empty.
    mutating func noneIsReady() {
        ready = 0
        isReadyKnown = true
    }

    /// Counts `count` messages more, or fewer, in `state`.
    mutating func count(_ state: MessageState, _ count: Int64) {
        switch state {
        case .pending: pending += count
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
        case .pending, .scheduled, .ready, .leased: break
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
    private var waitingBefore: (scheduled: Int64, ready: Int64)?
    /// Whether the depths must be counted anew: something was found that contradicts them.
    private var isWrong = false
    /// Whether this transaction has found the queue full, and may have sent a producer away.
    private(set) var wasFull = false

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

    /// Rings once this is committed, as so many messages more can be claimed, or the log has changed.
    func ring(messages: Int) {
        ring = ring ?? Ring()
        ring?.messages += messages
    }

    /// Rings once this is committed if producers may be waiting for room: those that the queue keeps out while it is full.
    func ringForRoom() {
        guard policy.capacity?.whenFull == .wait || policy.capacity?.whenFull == .fail else { return }
        ring = ring ?? Ring()
        ring?.makesRoom = true
    }

    /// Counts `count` messages as leased.
    ///
    /// - Parameters:
    ///   - newCount: how many of them came in this transaction. Others need not be woken for these, and they leave no more
    ///     room than there was before, unless somebody was sent away meanwhile.
    ///   - promotedCount: how many more became ready in this transaction. Others need not be woken for these.
    func claimed(_ count: Int, newCount: Int, promotedCount: Int) {
        change.ready -= Int64(count)
        change.leased += Int64(count)
        if let ring { self.ring?.messages = max(0, ring.messages - newCount - promotedCount) }
        if count > newCount || wasFull { ringForRoom() }
    }

    /// Has the depths counted anew when this is written down.
    func mustRecount() {
        isWrong = true
    }

    /// Whether `count` messages more are within the capacity. Reads the depths on the first call only.
    func hasRoom(for count: Int, _ connection: Connection) throws -> Bool {
        guard let capacity = policy.capacity else { return true }
        let before = try waitingBefore ?? readWaiting(connection)
        waitingBefore = before
        let ready = (change.isReadyKnown ? 0 : before.ready) + change.ready
        let hasRoom = before.scheduled + change.scheduled + ready + Int64(count) <= Int64(capacity.count)
        if !hasRoom { wasFull = true }
        return hasRoom
    }

    private func readWaiting(_ connection: Connection) throws -> (scheduled: Int64, ready: Int64) {
        func read() throws -> (scheduled: Int64, ready: Int64) {
            try connection.first(Self.selectWaiting, .integer(id)) { ($0.integer(0), $0.integer(1)) } ?? (-1, -1)
        }
        let found = try read()
        let range = 0...StoredRange.counts.upperBound / 4
        if range.contains(found.scheduled), range.contains(found.ready) { return found }
        try recount(connection)
        return try read()
    }

    /// Whether the depths say that messages are ready.
    func saysReady(_ connection: Connection) throws -> Bool {
        try readWaiting(connection).ready != 0
    }

    /// Adds what has changed to the queue's depths and totals.
    ///
    /// Depths that are wrong, because rows were changed by hand, may become negative or too large for an integer, which
    /// the table refuses. They are counted anew then, and nothing else is in the way of the transaction.
    func writeDown(_ connection: Connection) throws {
        if isWrong { return try recount(connection) }
        if change == DepthChange() { return }
        do {
            try connection.run(
                Self.write, .integer(id), .integer(change.scheduled), .integer(change.ready), .integer(change.leased),
                .integer(change.dead), .integer(change.kept), .integer(change.enqueuedTotal),
                .integer(change.doneTotal), .integer(change.deadTotal), .integer(change.droppedTotal),
                .integer(change.cancelledTotal), .integer(change.retriedTotal), .integer(change.reclaimedTotal),
                .integer(change.isReadyKnown ? 1 : 0), .integer(change.pending))
            if connection.changesCount == 0 { try recount(connection) }
        } catch  where error.isContradiction {
            try recount(connection)
        }
        waitingBefore = nil
        change = DepthChange()
    }

    /// Counts the depths anew, and adds what has changed to the totals.
    private func recount(_ connection: Connection) throws {
        try connection.run(Self.insert, .integer(id))
        try connection.run(
            Self.count, .integer(id), .integer(change.enqueuedTotal), .integer(change.doneTotal),
            .integer(change.deadTotal), .integer(change.droppedTotal), .integer(change.cancelledTotal),
            .integer(change.retriedTotal), .integer(change.reclaimedTotal))
        isWrong = false
        waitingBefore = nil
        change = DepthChange()
    }

    private static let selectWaiting = Query("SELECT scheduled, ready FROM penstock_depth WHERE queue_id = ?1")
    private static let write = Query(
        """
        UPDATE penstock_depth SET
            scheduled = scheduled + ?2, ready = CASE ?14 WHEN 1 THEN ?3 ELSE ready + ?3 END, leased = leased + ?4,
            dead = dead + ?5, kept = kept + ?6, pending = pending + ?15,
            enqueued_total = enqueued_total + ?7, done_total = done_total + ?8, dead_total = dead_total + ?9,
            dropped_total = dropped_total + ?10, cancelled_total = cancelled_total + ?11,
            retried_total = retried_total + ?12, reclaimed_total = reclaimed_total + ?13
        WHERE queue_id = ?1
        """)
    private static let insert = Query("INSERT OR IGNORE INTO penstock_depth (queue_id) VALUES (?1)")
    private static let count = Query(
        """
        UPDATE penstock_depth SET
            \(DepthCount.depths(of: "?1")),
            \(DepthCount.totals.enumerated().map { index, name in
                "\(name) = \(DepthCount.sound(name)) + ?\(index + 2)"
            }.joined(separator: ", "))
        WHERE queue_id = ?1
        """)
}

/// A queue's row, as the writer keeps it in memory.
struct QueueRow: Sendable {
    var id: Int64
    var name: QueueName
    var isPaused: Bool
    var isDeleting: Bool
    var policy: QueuePolicy

    /// The columns ``init(_:)`` reads, in its order.
    static let columns = """
        queue.id, queue.name, queue.paused, queue.capacity, queue.when_full, queue.attempts_max, queue.retry_base,
        queue.retry_factor, queue.retry_cap, queue.retry_jitter, queue.retain_age, queue.retain_count,
        queue.retain_dead_age, queue.deleting
        """
    static let columnCount = 14

    init(_ row: PreparedStatement) {
        id = row.integer(0)
        name = QueueName(stored: row.text(1) ?? "")
        isPaused = row.integer(2) != 0
        isDeleting = row.integer(13) != 0
        var capacity: Capacity?
        if let count = row.optionalInteger(3), let whenFull = row.text(4).flatMap(OverflowPolicy.init) {
            capacity = Capacity(Int(count), whenFull: whenFull)
        }
        policy = QueuePolicy(
            capacity: capacity,
            retry: RetryPolicy(
                attemptsMax: Int(row.integer(5)),
                base: .microseconds(row.integer(6)),
                factor: row.real(7),
                cap: .microseconds(row.integer(8)),
                jitter: row.real(9)),
            retention: Retention(
                age: row.optionalInteger(10).map { .microseconds($0) },
                count: row.optionalInteger(11).map(Int.init),
                deadAge: row.optionalInteger(12).map { .microseconds($0) }))
    }
}

/// The queues' policies, kept in memory between transactions for as long as the file's `policy_version` stays.
final class PolicyCache {
    private var version: Int64 = -1
    private var rows: [QueueName: QueueRow] = [:]
    private var names: [Int64: QueueName] = [:]
    private var scheduled: [Int64: Bool] = [:]

    /// Forgets everything when `version` is another than the one it was read at.
    func validate(at version: Int64) {
        if version != self.version {
            forget()
            self.version = version
        }
    }

    /// Forgets everything: after a rollback, or a change in this transaction.
    func forget() {
        version = -1
        rows = [:]
        names = [:]
        scheduled = [:]
    }

    /// Whether the queue has schedules.
    func hasSchedules(_ id: Int64, _ connection: Connection) throws -> Bool {
        if let known = scheduled[id] { return known }
        let found = try connection.first(Self.anySchedule, .integer(id)) { $0.integer(0) != 0 } ?? false
        scheduled[id] = found
        return found
    }

    /// The queue called `name`, or `nil` when there is none.
    func row(named name: QueueName, _ connection: Connection) throws -> QueueRow? {
        if let row = rows[name] { return row }
        return try keep(connection.first(Self.byName, .text(name.text), read: QueueRow.init))
    }

    /// The queue with that id, or `nil` when there is none.
    func row(id: Int64, _ connection: Connection) throws -> QueueRow? {
        if let name = names[id], let row = rows[name] { return row }
        return try keep(connection.first(Self.byID, .integer(id), read: QueueRow.init))
    }

    private func keep(_ row: QueueRow?) -> QueueRow? {
        if let row {
            rows[row.name] = row
            names[row.id] = row.name
        }
        return row
    }

    private static let anySchedule = Query("SELECT EXISTS (SELECT 1 FROM penstock_schedule WHERE queue_id = ?1)")
    private static let byName = Query("SELECT \(QueueRow.columns) FROM penstock_queue AS queue WHERE queue.name = ?1")
    private static let byID = Query("SELECT \(QueueRow.columns) FROM penstock_queue AS queue WHERE queue.id = ?1")
}
