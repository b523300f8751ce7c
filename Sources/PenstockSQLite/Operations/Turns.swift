import PenstockCore

/// The turns of messages whose queue is shared fairly among its groups.
///
/// Start-time fair queueing (Goyal, Vin and Cheng, 1996): a message has the later of two turns, the one that was claimed last
/// and the one behind its group's last message. So a group that comes new waits for no more than one message of each other
/// group, however much those have waiting, and one that was away has saved nothing up.
enum Turns {
    /// The turn of message `sequence`.
    static func turn(of sequence: Int64, _ account: QueueAccount, _ connection: Connection) throws -> Int64 {
        guard account.hasTurns else { return 0 }
        return try connection.first(readTurn, .integer(sequence)) { $0.integer(0) } ?? 0
    }

    /// Gives each of `messages`, which are accepted by the queue, its turn.
    static func give(
        to messages: [NewMessage], _ account: QueueAccount, _ connection: Connection
    ) throws -> [Int64] {
        let (current, last) =
            try connection.first(readQueue, .integer(account.id)) { ($0.integer(0), $0.integer(1)) } ?? (1, 1)
        // They come behind all that have a turn from when the queue was shared.
        guard account.policy.isFair else { return Array(repeating: last, count: messages.count) }
        var shares: [[UInt8]: FairShare] = [:]
        let turns = try messages.map { message in
            // By its bytes, as in the tables: Swift takes two ways to write an accent for one text.
            let key = Array((message.group ?? "").utf8)
            var share = try shares[key] ?? share(of: message.group ?? "", account, connection)
            defer { shares[key] = share }
            return share.take(notBefore: current)
        }
        for (key, share) in shares {
            try connection.run(
                writeShare, .integer(account.id), .text(String(decoding: key, as: UTF8.self)), .integer(share.next))
        }
        if let highest = turns.max(), highest > last {
            try connection.run(writeLast, .integer(account.id), .integer(highest))
        }
        return turns
    }

    /// Writes down that a message with that turn was claimed. Groups that have had no more than the others are forgotten.
    static func claimed(_ turn: Int64, _ account: QueueAccount, _ connection: Connection) throws {
        try connection.run(writeCurrent, .integer(account.id), .integer(turn))
        try connection.run(deletePassed, .integer(account.id), .integer(turn))
    }

    /// Sets how much a group weighs.
    static func setWeight(
        _ weight: Int, of key: String, _ account: QueueAccount, _ connection: Connection
    ) throws {
        try connection.run(writeWeight, .integer(account.id), .text(key), .integer(Int64(weight)))
    }

    private static func share(
        of key: String, _ account: QueueAccount, _ connection: Connection
    ) throws -> FairShare {
        try connection.first(readShare, .integer(account.id), .text(key)) {
            FairShare(weight: $0.integer(0), next: $0.integer(1))
        } ?? FairShare()
    }

    private static let readTurn = Query("SELECT turn FROM penstock_log WHERE sequence = ?1")
    private static let readQueue = Query("SELECT turn, last_turn FROM penstock_fair WHERE queue_id = ?1")
    private static let readShare = Query(
        "SELECT weight, next_turn FROM penstock_share WHERE queue_id = ?1 AND group_key = ?2")
    private static let writeShare = Query(
        """
        INSERT INTO penstock_share (queue_id, group_key, next_turn) VALUES (?1, ?2, ?3)
        ON CONFLICT (queue_id, group_key) DO UPDATE SET next_turn = excluded.next_turn
        """)
    private static let writeWeight = Query(
        """
        INSERT INTO penstock_share (queue_id, group_key, weight) VALUES (?1, ?2, ?3)
        ON CONFLICT (queue_id, group_key) DO UPDATE SET weight = excluded.weight
        """)
    private static let writeLast = Query("UPDATE penstock_fair SET last_turn = ?2 WHERE queue_id = ?1")
    private static let writeCurrent = Query("UPDATE penstock_fair SET turn = max(turn, ?2) WHERE queue_id = ?1")
    private static let deletePassed = Query(
        "DELETE FROM penstock_share WHERE queue_id = ?1 AND weight = 1 AND next_turn <= ?2")
}
