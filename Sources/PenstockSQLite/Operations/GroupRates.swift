import PenstockCore

/// When messages of a group may start: by the rate of each group, and when somebody has put its starts off.
///
/// Invariants after each COMMIT: of a group whose queue has a rate per key at most one message is ready; none is while its next
/// start is to come. A group with messages that only wait for that has `waits` set, and any claim goes on with it in time. A
/// group without a row has not started anything for as long as it matters.
enum GroupRates {
    /// Whether one more message of a group may be in line for workers. If only time is in the way, the group waits from now on.
    ///
    /// - Parameter sequence: the message that is to be in line, if it has a permit already.
    static func isOpen(_ group: Group, besides sequence: Int64 = 0, in transaction: Transaction) throws -> Bool {
        let connection = transaction.connection
        let account = group.account
        let rate = account.policy.ratePerKey
        if rate == nil, try !hasRows(account, connection) { return true }
        try RateClock.adopt(account, in: transaction)
        let row = try connection.first(read, .integer(account.id), .text(group.key)) {
            (tat: $0.integer(0), waits: $0.integer(1) != 0)
        }
        if row?.waits == true { return false }
        if rate != nil, try Permits.hasUnclaimed(group, besides: sequence, connection) { return false }
        guard let row, RateMeter(rate).opens(row.tat) > transaction.time.boot.microseconds else { return true }
        try connection.run(writeWaits, .integer(account.id), .text(group.key), 1)
        // Workers learn until when it waits.
        account.ring(messages: 1)
        return false
    }

    /// Writes down that messages start, and lets the next ones of their groups in line, at once or in time.
    static func started(_ messages: [ClaimedMessage], of account: QueueAccount, in transaction: Transaction) throws {
        guard let rate = account.policy.ratePerKey else { return }
        let meter = RateMeter(rate)
        let boot = transaction.time.boot.microseconds
        for key in messages.compactMap(\.group) {
            let group = Group(account: account, key: key)
            let before = try tat(of: group, transaction.connection)
            try write(meter.tat(before, afterStarts: 1, at: boot), group, in: transaction)
            try Groups.permitNext(of: group, in: transaction)
        }
    }

    /// Puts off the starts of a message's group. What of it is in line for workers is blocked.
    static func hold(_ entry: LineEntry, for duration: Duration, in transaction: Transaction) throws {
        guard entry.marks.contains(.group), entry.account.policy.groups != nil,
            let key = try Groups.key(of: entry.sequence, transaction.connection)
        else { return }
        let group = Group(account: entry.account, key: key)
        let until = transaction.time.boot.microseconds + duration.wholeMicroseconds
        let before = try tat(of: group, transaction.connection)
        let meter = RateMeter(entry.account.policy.ratePerKey)
        try write(meter.tat(before, heldUntil: until), group, in: transaction)
        try Groups.settleNow(group, in: transaction)
    }

    /// Ready messages of a group that may not start yet, or are more than one while there is a rate: those that would come last.
    static func tooEarly(_ group: Group, limit: Int, in transaction: Transaction) throws -> [Int64] {
        let connection = transaction.connection
        let rate = group.account.policy.ratePerKey
        if rate == nil, try !hasRows(group.account, connection) { return [] }
        try RateClock.adopt(group.account, in: transaction)
        let opens = RateMeter(rate).opens(try tat(of: group, connection))
        let most: Int64 = opens > transaction.time.boot.microseconds ? 0 : rate == nil ? .max : 1
        return try Permits.lastReady(of: group, beyond: most, limit: limit, connection)
    }

    /// Whether a group of the queue has started lately, or was put off. Asked once in a transaction.
    private static func hasRows(_ account: QueueAccount, _ connection: Connection) throws -> Bool {
        if let known = account.hasGroupRates { return known }
        let found = try connection.first(anyRow, .integer(account.id)) { _ in true } ?? false
        account.hasGroupRates = found
        return found
    }

    /// Forgets that a group waits, as what it waits by has changed. Whether it does is asked anew.
    static func reopen(_ group: Group, in transaction: Transaction) throws {
        try transaction.connection.run(writeWaits, .integer(group.account.id), .text(group.key), 0)
    }

    /// Lets messages in line whose groups have waited for their time, up to ``Limits/regroupCountMax`` groups.
    ///
    /// - Returns: whether none is left whose time has come.
    static func openDue(_ account: QueueAccount, in transaction: Transaction) throws -> Bool {
        guard account.policy.groups != nil, try hasRows(account, transaction.connection) else { return true }
        try RateClock.adopt(account, in: transaction)
        let latest = Value.integer(latestTat(account.policy.ratePerKey, transaction.time.boot))
        let limit = Int64(Limits.regroupCountMax)
        let keys = try transaction.connection.all(selectDue, .integer(account.id), latest, .integer(limit)) {
            $0.text(0) ?? ""
        }
        for key in keys {
            let group = Group(account: account, key: key)
            try reopen(group, in: transaction)
            while try Groups.permitNext(of: group, in: transaction) {}
        }
        try transaction.connection.run(
            deletePassed, .integer(account.id), .integer(transaction.time.boot.microseconds), .integer(limit))
        return keys.count < Limits.regroupCountMax
    }

    /// When the next group of a queue goes on that waits for its time.
    static func nextOpening(
        _ queueID: Int64, _ rate: Rate?, _ boot: BootTime, _ now: Timestamp, _ connection: Connection
    ) throws -> Timestamp? {
        let tat = try connection.first(readFirst, .integer(queueID)) { $0.integer(0) }
        return tat.map { RateClock.wall(RateMeter(rate).opens($0), boot, now) }
    }

    private static func latestTat(_ rate: Rate?, _ boot: BootTime) -> Int64 {
        boot.microseconds + RateMeter(rate).tolerance
    }

    private static func tat(of group: Group, _ connection: Connection) throws -> Int64 {
        try connection.first(read, .integer(group.account.id), .text(group.key)) { $0.integer(0) } ?? 0
    }

    private static func write(_ tat: Int64, _ group: Group, in transaction: Transaction) throws {
        try Rates.makeRow(group.account, in: transaction)
        group.account.hasGroupRates = true
        try transaction.connection.run(write, .integer(group.account.id), .text(group.key), .integer(tat))
    }

    private static let read = Query(
        "SELECT tat, waits FROM penstock_group_rate WHERE queue_id = ?1 AND group_key = ?2")
    private static let anyRow = Query("SELECT 1 FROM penstock_group_rate WHERE queue_id = ?1 LIMIT 1")
    private static let write = Query(
        """
        INSERT INTO penstock_group_rate (queue_id, group_key, tat) VALUES (?1, ?2, ?3)
        ON CONFLICT (queue_id, group_key) DO UPDATE SET tat = excluded.tat
        """)
    private static let writeWaits = Query(
        "UPDATE penstock_group_rate SET waits = ?3 WHERE queue_id = ?1 AND group_key = ?2 AND waits <> ?3")
    private static let selectDue = Query(
        """
        SELECT group_key FROM penstock_group_rate WHERE queue_id = ?1 AND waits = 1 AND tat <= ?2
        ORDER BY tat LIMIT ?3
        """)
    private static let readFirst = Query(
        "SELECT tat FROM penstock_group_rate WHERE queue_id = ?1 AND waits = 1 ORDER BY tat LIMIT 1")
    private static let deletePassed = Query(
        """
        DELETE FROM penstock_group_rate WHERE queue_id = ?1 AND group_key IN (
            SELECT group_key FROM penstock_group_rate WHERE queue_id = ?1 AND waits = 0 AND tat <= ?2 LIMIT ?3)
        """)
}
