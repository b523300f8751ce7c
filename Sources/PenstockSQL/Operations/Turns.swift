import PenstockCore

/// The turns of messages whose queue is shared fairly among its groups.
///
/// Start-time fair queueing (Goyal, Vin and Cheng, 1996), for each priority by itself: as it becomes ready a message has the later
/// of two turns, the one that was claimed last and the one behind its group's last message. So a group that comes new waits for
/// no more than one message of each other group, or two where some are tried again, however much those have waiting; and one
/// that was away, or had its messages put off, has saved nothing up. What is ready no more and has not started gives its turn back.
enum Turns {
    static func turn(of sequence: Int64, _ account: QueueAccount, _ connection: Connection) throws -> Int64 {
        guard account.hasTurns else { return 0 }
        return try connection.integer(readTurn, .integer(sequence)) ?? 0
    }

    /// Gives a message its turn that becomes ready, and writes it into the log.
    static func enter(
        _ entry: LineEntry, _ outcome: Lifecycle.Outcome, in transaction: Transaction
    ) throws -> Int64 {
        let account = entry.account
        let connection = transaction.connection
        let read = try connection.first(readTurnAndBytes, .integer(entry.sequence)) { ($0.integer(0), $0.integer(1)) }
        let (known, bytes) = read ?? (0, 0)
        guard known == 0 || !isReleased(entry, outcome) else { return known }
        let lane = Lane(account: account, priority: entry.priority)
        var turn = try lane.first(connection)
        if account.policy.isFair {
            let key = try key(of: entry, connection)
            var share = try lane.share(of: key, connection)
            turn = share.take(again: outcome.attempt > outcome.forgiven, notBefore: turn)
            try lane.write(share, of: key, connection)
        }
        if turn != known {
            try connection.run(writeTurn, .integer(entry.sequence), .integer(turn))
            // It lies in the row of the payload, all of which SQLite writes anew where the row gets another size. A server has a large payload
            // elsewhere, and leaves it there.
            if !connection.isServer, byteCount(of: turn) != byteCount(of: known) { transaction.bytesLeft -= bytes }
        }
        return turn
    }

    /// What messages have in their rows until they get their turns, in a file: turns of today's, so that the rows keep their size when
    /// they do. On a server that gains nothing.
    ///
    /// - Returns: `nil`: nothing.
    static func provisional(
        for messages: [NewMessage], _ account: QueueAccount, _ connection: Connection
    ) throws -> [Int64]? {
        guard account.hasTurns, !connection.isServer else { return nil }
        var turns: [Int: Int64] = [:]
        for priority in Set(messages.map(\.priority)) {
            turns[priority] = try Lane(account: account, priority: Int64(priority)).first(connection)
        }
        return messages.map { turns[$0.priority] ?? 0 }
    }

    /// The turns of messages that are accepted together. Those that are not ready at once have provisional ones.
    static func give(
        to messages: [NewMessage], areReady: [Bool], _ account: QueueAccount, _ connection: Connection
    ) throws -> [Int64] {
        var firsts: [Int: Int64] = [:]
        var shares: [Int: [[UInt8]: FairShare]] = [:]
        var turns = Array(repeating: Int64(0), count: messages.count)
        for (index, message) in messages.enumerated() where areReady[index] || !connection.isServer {
            let lane = Lane(account: account, priority: Int64(message.priority))
            let first = try firsts[message.priority] ?? lane.first(connection)
            firsts[message.priority] = first
            turns[index] = first
            guard account.policy.isFair, areReady[index] else { continue }
            // By its bytes, as in the tables: Swift takes two ways to write an accent for one text.
            let key = Array((message.group ?? "").utf8)
            var share = try shares[message.priority]?[key] ?? lane.share(of: message.group ?? "", connection)
            turns[index] = share.take(again: false, notBefore: first)
            shares[message.priority, default: [:]][key] = share
        }
        for (priority, ofGroups) in shares {
            let lane = Lane(account: account, priority: Int64(priority))
            for (key, share) in ofGroups { try lane.write(share, of: String(decoding: key, as: UTF8.self), connection) }
        }
        return turns
    }

    /// Whether a worker gives a message back unbegun, and so has not used its turn up.
    private static func isReleased(_ entry: LineEntry, _ outcome: Lifecycle.Outcome) -> Bool {
        entry.state == .leased && Int64(outcome.attempt) < entry.attempt
    }

    /// Takes the turn of a message back that was ready, or was given back unbegun, and goes elsewhere.
    static func leave(_ entry: LineEntry, _ outcome: Lifecycle.Outcome, in transaction: Transaction) throws {
        guard entry.account.hasTurns, entry.account.policy.isFair,
            entry.state == .ready || outcome.state == .blocked && isReleased(entry, outcome)
        else { return }
        let connection = transaction.connection
        let lane = Lane(account: entry.account, priority: entry.priority)
        let key = try key(of: entry, connection)
        var share = try lane.share(of: key, connection)
        share.giveBack(again: outcome.attempt > outcome.forgiven)
        try lane.write(share, of: key, connection)
    }

    /// Writes down that all messages of a priority were claimed up to a place. Groups that have had no more than the others are
    /// forgotten, and so is what any has had when nothing is left to be shared.
    static func claimed(upTo place: LinePlace, _ account: QueueAccount, _ connection: Connection) throws {
        let (id, level) = (Value.integer(account.id), Value.integer(place.priority))
        // Not from the first one on: a server may keep the versions of all that are gone (``LineStart``).
        let isAnyReady = try connection.has(
            anyReadyBehind, id, level, .integer(place.turn), .integer(place.sequence))
        let highest = isAnyReady ? nil : try connection.integer(readHighest, id, level)
        let reached = max(place.turn, highest ?? place.turn).clamped(to: 1...Int64.max / 2)
        try connection.run(writeCurrent, id, level, .integer(reached))
        try connection.run(deletePassed, id, level, .integer(reached), .integer(Int64(Limits.batchCountMax)))
    }

    /// Sets how much a group weighs.
    static func setWeight(
        _ weight: Int, of key: String, _ account: QueueAccount, _ connection: Connection
    ) throws {
        if weight == 1 {
            try connection.run(deleteWeight, .integer(account.id), .text(key))
        } else {
            try connection.run(writeWeight, .integer(account.id), .text(key), .integer(Int64(weight)))
        }
    }

    /// The messages of one priority of a queue.
    private struct Lane {
        var account: QueueAccount
        var priority: Int64

        private var id: Value { .integer(account.id) }

        /// The turn that was claimed last.
        func current(_ connection: Connection) throws -> Int64 {
            try connection.integer(readCurrent, id, .integer(priority)) ?? 1
        }

        /// The lowest turn that a message may get now. Without shares they come behind all that have a turn from when the queue was shared.
        func first(_ connection: Connection) throws -> Int64 {
            try account.policy.isFair ? current(connection) : last(connection)
        }

        /// The highest turn that any message has.
        func last(_ connection: Connection) throws -> Int64 {
            max(
                try current(connection),
                try connection.integer(readLast, id, .integer(priority)) ?? 1)
        }

        func share(of key: String, _ connection: Connection) throws -> FairShare {
            let weight = try connection.integer(readWeight, id, .text(key)) ?? 1
            return try connection.first(readShare, id, .integer(priority), .text(key)) {
                FairShare(weight: weight, next: $0.integer(0), again: $0.integer(1))
            } ?? FairShare(weight: weight)
        }

        func write(_ share: FairShare, of key: String, _ connection: Connection) throws {
            try connection.run(
                writeShare, id, .integer(priority), .text(key), .integer(share.next), .integer(share.again))
        }
    }

    /// How many bytes SQLite takes for a number in a row (https://www.sqlite.org/fileformat2.html#record_format).
    private static func byteCount(of number: Int64) -> Int {
        switch number {
        case 0, 1: 0
        case -0x80..<0x80: 1
        case -0x8000..<0x8000: 2
        case -0x80_0000..<0x80_0000: 3
        case -0x8000_0000..<0x8000_0000: 4
        case -0x8000_0000_0000..<0x8000_0000_0000: 6
        default: 8
        }
    }

    private static func key(of entry: LineEntry, _ connection: Connection) throws -> String {
        try Groups.key(of: entry.sequence, connection) ?? ""
    }

    private static let readTurn = Query("SELECT turn FROM penstock_log WHERE sequence = ?1")
    private static let readTurnAndBytes = Query(
        "SELECT turn, length(payload) FROM penstock_log WHERE sequence = ?1")
    private static let writeTurn = Query("UPDATE penstock_log SET turn = ?2 WHERE sequence = ?1")
    private static let readCurrent = Query("SELECT turn FROM penstock_fair WHERE queue_id = ?1 AND priority = ?2")
    private static let writeCurrent = Query(
        """
        INSERT INTO penstock_fair (queue_id, priority, turn) VALUES (?1, ?2, ?3)
        ON CONFLICT (queue_id, priority) DO UPDATE SET turn = max(penstock_fair.turn, excluded.turn)
        """)
    private static let readLast = Query(
        "SELECT turn FROM penstock_ready WHERE queue_id = ?1 AND priority = ?2 ORDER BY turn DESC, sequence DESC LIMIT 1"
    )
    private static let anyReadyBehind = Query(
        "SELECT 1 FROM penstock_ready WHERE queue_id = ?1 AND priority = ?2 AND (turn, sequence) > (?3, ?4) LIMIT 1")
    private static let readShare = Query(
        """
        SELECT next_turn, again_turn FROM penstock_share WHERE queue_id = ?1 AND priority = ?2 AND group_key = ?3
        """)
    private static let writeShare = Query(
        """
        INSERT INTO penstock_share (queue_id, priority, group_key, next_turn, again_turn) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (queue_id, priority, group_key)
            DO UPDATE SET next_turn = excluded.next_turn, again_turn = excluded.again_turn
        """)
    private static let readHighest = Query(
        """
        SELECT next_turn FROM penstock_share WHERE queue_id = ?1 AND priority = ?2 ORDER BY next_turn DESC LIMIT 1
        """)
    private static let deletePassed = Query(
        """
        DELETE FROM penstock_share WHERE queue_id = ?1 AND priority = ?2 AND group_key IN (
            SELECT group_key FROM penstock_share WHERE queue_id = ?1 AND priority = ?2 AND next_turn <= ?3
            ORDER BY next_turn LIMIT ?4)
        """)
    private static let readWeight = Query("SELECT weight FROM penstock_weight WHERE queue_id = ?1 AND group_key = ?2")
    private static let deleteWeight = Query("DELETE FROM penstock_weight WHERE queue_id = ?1 AND group_key = ?2")
    private static let writeWeight = Query(
        """
        INSERT INTO penstock_weight (queue_id, group_key, weight) VALUES (?1, ?2, ?3)
        ON CONFLICT (queue_id, group_key) DO UPDATE SET weight = excluded.weight
        """)
}
