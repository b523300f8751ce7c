package import PenstockCore
package import PenstockProcesses

/// One queue within one transaction: its policy, and what the transaction has changed so far.
package final class QueueAccount {
    package let id: Int64
    package let name: QueueName
    package let isPaused: Bool
    package let isDeleting: Bool
    package let policy: QueuePolicy
    /// Whether its messages may have turns: it is shared fairly, or was.
    package let hasTurns: Bool
    var change = DepthChange()
    /// Whether the numbers of its rates are known to be on this process's boot clock.
    package var hasRateClock = false
    /// Whether groups of it have rows in `penstock_group_rate`; `nil`: nobody has looked.
    package var hasGroupRates: Bool?
    /// What to ring for once this is committed; `nil`: nothing.
    package var ring: Ring?
    private let known: KnownDepth
    private var before: KnownDepth.Waiting?
    /// Whether the depths must be counted anew: something was found that contradicts them.
    private var isWrong = false
    /// Whether this transaction has found the queue full, and may have sent a producer away.
    private(set) var wasFull = false

    init(_ row: QueueRow, _ known: KnownDepth = KnownDepth()) {
        self.known = known
        id = row.id
        name = row.name
        isPaused = row.isPaused
        isDeleting = row.isDeleting
        policy = row.policy
        hasTurns = row.hasTurns
    }

    /// Forgets what a part of the transaction has done that was undone, and what it has found.
    func undone(to before: (change: DepthChange, ring: Ring?)?) {
        (change, ring) = before ?? (DepthChange(), nil)
        hasRateClock = false
        hasGroupRates = nil
    }

    /// Rings once this is committed, as so many messages more can be claimed, or the log has changed.
    package func ring(messages: Int) {
        ring = ring ?? Ring()
        ring?.messages += messages
    }

    /// Rings once this is committed if producers may be waiting for room: those that the queue keeps out while it is full.
    package func ringForRoom() {
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
    package func claimed(_ count: Int, newCount: Int, promotedCount: Int) {
        change.ready -= Int64(count)
        change.leased += Int64(count)
        if let ring { self.ring?.messages = max(0, ring.messages - newCount - promotedCount) }
        if count > newCount || wasFull { ringForRoom() }
    }

    /// Has the depths counted anew when this is written down.
    package func mustRecount() {
        isWrong = true
    }

    /// Whether `count` messages more are within the capacity. Reads the depths on the first call only.
    package func hasRoom(for count: Int, _ connection: Connection) throws -> Bool {
        let hasRoom = try room(connection) >= Int64(count)
        if !hasRoom { wasFull = true }
        return hasRoom
    }

    /// How many messages more are within the capacity; below 0 where more wait than may. Reads the depths on the first call only.
    func room(_ connection: Connection) throws -> Int64 {
        guard let capacity = policy.capacity else { return .max }
        let before = try before ?? readWaiting(connection)
        self.before = before
        let ready = (change.isReadyKnown ? 0 : before.ready) + change.ready
        let other = before.scheduled + change.scheduled + before.blocked + change.blocked
        return Int64(capacity.count) - other - ready
    }

    private func readWaiting(_ connection: Connection) throws -> KnownDepth.Waiting {
        func read() throws -> KnownDepth.Waiting {
            if !connection.isServer {
                return try connection.first(Self.selectWaiting, .integer(id)) {
                    KnownDepth.Waiting(scheduled: $0.integer(0), ready: $0.integer(1), blocked: $0.integer(2))
                } ?? Self.noRow
            }
            if known.waiting == nil { try known.read(of: id, connection) }
            return known.waiting ?? Self.noRow
        }
        let found = try read()
        let range = 0...StoredRange.counts.upperBound / 4
        if [found.scheduled, found.ready, found.blocked].allSatisfy(range.contains) { return found }
        try recount(connection)
        return try read()
    }

    private static let noRow = KnownDepth.Waiting(scheduled: -1, ready: -1, blocked: -1)

    /// From where on messages may be ready; `nil`: from where the row says, which this transaction has not changed.
    func lineStart(trusting trusts: Bool, _ connection: Connection) throws -> LinePlace? {
        if !trusts { return .first }
        if change.lineStart == LineStart() { return nil }
        if !known.isCurrent { try known.read(of: id, connection) }
        return change.lineStart.resolved(after: known.lineStart)
    }

    /// How many messages are ready, as the depths and this transaction say.
    func readyCount(_ connection: Connection) throws -> Int64 {
        (change.isReadyKnown ? 0 : try readWaiting(connection).ready) + change.ready
    }

    /// How many messages are scheduled, as the depths and this transaction say.
    func scheduledCount(_ connection: Connection) throws -> Int64 {
        try readWaiting(connection).scheduled + change.scheduled
    }

    /// Adds what has changed to the queue's depths, totals and latencies.
    ///
    /// Depths that are wrong, because rows were changed by hand, may become negative or too large for an integer, which
    /// the table refuses. They are counted anew then, and nothing else is in the way of the transaction.
    package func writeDown(_ connection: Connection) throws {
        if isWrong { return try recount(connection) }
        if change == DepthChange() { return }
        do {
            let isWritten = try connection.attempt {
                if try write(connection) { return true }
                if change.latency.isEmpty { return false }
                // Another process has written the latencies since.
                try known.read(of: id, connection)
                return try write(connection)
            }
            if !isWritten { try recount(connection) }
        } catch  where error.isContradiction {
            try recount(connection)
        }
        before = nil
        change = DepthChange()
    }

    /// Writes what has changed; false when there is no row that has the latencies which are known.
    private func write(_ connection: Connection) throws -> Bool {
        let phases = change.latency
        let query =
            switch (phases.wait.isEmpty, phases.work.isEmpty) {
            case (true, true): Self.write
            case (false, true): Self.writeWait
            case (true, false): Self.writeWork
            case (false, false): Self.writeBoth
            }
        if connection.isServer, !known.isCurrent { try known.read(of: id, connection) }
        let (waitBefore, workBefore) = (known.wait.text, known.work.text)
        known.add(phases)
        let statement = try connection.statement(query)
        defer { statement.reset() }
        let numbers = [
            id, change.scheduled, change.ready, change.leased, change.dead, change.kept, change.enqueuedTotal,
            change.doneTotal, change.deadTotal, change.droppedTotal, change.cancelledTotal, change.retriedTotal,
            change.reclaimedTotal, change.isReadyKnown ? 1 : 0, change.pending, change.blocked,
        ]
        for (index, number) in numbers.enumerated() { statement.bind(number, at: index + 1) }
        if !phases.wait.isEmpty {
            statement.bind(Value(known.wait.text), at: 17)
            statement.bind(Value(waitBefore), at: 18)
        }
        if !phases.work.isEmpty {
            statement.bind(Value(known.work.text), at: 19)
            statement.bind(Value(workBefore), at: 20)
        }
        if connection.isServer {
            // The row that was read in this transaction is still there, so nobody has to wait for the answer.
            guard known.isCurrent else { return false }
            let start = change.lineStart.resolved(after: known.lineStart)
            for (index, number) in [known.version, start.priority, start.turn, start.sequence].enumerated() {
                statement.bind(number, at: 21 + index)
            }
            try statement.run()
            known.written(lineStart: start)
            return true
        }
        _ = try statement.step()
        return try connection.changesCount() > 0
    }

    /// Counts the depths anew, and adds what has changed to the totals and the latencies.
    private func recount(_ connection: Connection) throws {
        known.expire()
        try connection.run(Self.insert, .integer(id))
        if !change.latency.isEmpty {
            try known.read(of: id, connection)
            known.add(change.latency)
            try connection.run(
                Self.writeLatency, .integer(id), Value(known.wait.text), Value(known.work.text))
        }
        try connection.run(
            Self.count, .integer(id), .integer(change.enqueuedTotal), .integer(change.doneTotal),
            .integer(change.deadTotal), .integer(change.droppedTotal), .integer(change.cancelledTotal),
            .integer(change.retriedTotal), .integer(change.reclaimedTotal))
        isWrong = false
        before = nil
        change = DepthChange()
    }

    private static let write = writing(setting: "", where: "")
    private static let writeWait = writing(
        setting: ", wait_latency = ?17", where: " AND wait_latency IS ?18")
    private static let writeWork = writing(
        setting: ", work_latency = ?19", where: " AND work_latency IS ?20")
    private static let writeBoth = writing(
        setting: ", wait_latency = ?17, work_latency = ?19",
        where: " AND wait_latency IS ?18 AND work_latency IS ?20")

    private static func writing(setting latencies: String, where known: String) -> Query {
        let change = """
            UPDATE penstock_depth SET
                scheduled = scheduled + ?2, ready = CASE ?14 WHEN 1 THEN ?3 ELSE ready + ?3 END, leased = leased + ?4,
                dead = dead + ?5, kept = kept + ?6, pending = pending + ?15, blocked = blocked + ?16,
                enqueued_total = enqueued_total + ?7, done_total = done_total + ?8, dead_total = dead_total + ?9,
                dropped_total = dropped_total + ?10, cancelled_total = cancelled_total + ?11,
                retried_total = retried_total + ?12, reclaimed_total = reclaimed_total + ?13\(latencies)
            """
        return Query(
            "\(change) WHERE queue_id = ?1\(known)",
            server: """
                \(change), from_priority = ?22, from_turn = ?23, from_sequence = ?24, \(Versions.next)
                WHERE queue_id = ?1 AND version = ?21\(known)
                """)
    }

    private static let writeLatency = Query(
        "UPDATE penstock_depth SET wait_latency = ?2, work_latency = ?3 WHERE queue_id = ?1")
    private static let selectWaiting = Query("SELECT scheduled, ready, blocked FROM penstock_depth WHERE queue_id = ?1")
    private static let insert = Query(
        """
        INSERT INTO penstock_depth (queue_id)
        SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM penstock_depth WHERE queue_id = ?1)
        """)
    private static let count = Query(
        "UPDATE penstock_depth SET \(counts) WHERE queue_id = ?1",
        server: "UPDATE penstock_depth SET \(counts), from_priority = \(Int64.max) WHERE queue_id = ?1")
    private static let counts = """
        \(DepthCount.depths(of: "?1")),
        \(DepthCount.totals.enumerated().map { index, name in
            "\(name) = \(DepthCount.sound(name)) + ?\(index + 2)"
        }.joined(separator: ", "))
        """
}
