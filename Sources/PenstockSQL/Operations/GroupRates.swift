import PenstockCore

/// When messages of a group may start: by the rate of each group, and when somebody has put its starts off.
///
/// Invariants after each COMMIT: of a group whose queue has a rate per key at most one message is ready; none is while its next
/// start is to come. A group with messages that only wait for that, and one that was put off, has `opens_at`, and any claim goes
/// on with it in time. A group without a row has not started anything for as long as it matters.
enum GroupRates {
    /// Whether one more message of a group may be in line for workers. If only time is in the way, the group waits from now on.
    ///
    /// - Parameters:
    ///   - sequence: the message that is to be in line, if it has a permit already.
    ///   - row: the group's row, if it was read in this transaction.
    static func isOpen(
        _ group: Group, besides sequence: Int64 = 0, knowing row: Row? = nil, in transaction: Transaction
    ) throws -> Bool {
        let connection = transaction.connection
        let rate = group.account.policy.ratePerKey
        if rate == nil, try !hasRows(group.account, connection) { return true }
        let row = try row ?? self.row(of: group, in: transaction)
        if row?.opensAt != nil { return false }
        if rate != nil, try Permits.hasUnclaimed(group, besides: sequence, connection) { return false }
        guard let row, row.opens > transaction.boot.microseconds else { return true }
        try wait(group, until: row, in: transaction)
        return false
    }

    /// Writes down that messages start, and lets the next ones of their groups in line, at once or in time.
    static func started(_ messages: [ClaimedMessage], of account: QueueAccount, in transaction: Transaction) throws {
        guard let rate = account.policy.ratePerKey else { return }
        let keys = messages.compactMap(\.group)
        if keys.isEmpty { return }
        let meter = RateMeter(rate)
        let boot = transaction.boot.microseconds
        try RateClock.begin(account, in: transaction)
        account.hasGroupRates = true
        for key in keys {
            let group = Group(account: account, key: key)
            var row = try row(of: group, in: transaction) ?? Row(tat: 0)
            row.tat = meter.tat(row.tat, afterStarts: 1, at: boot)
            row.opens = max(row.opens, meter.opens(row.tat))
            try transaction.connection.run(writeStart, .integer(account.id), .text(key), .integer(row.tat))
            try Groups.permitNext(of: group, knowing: row, in: transaction)
        }
    }

    /// Gives the start of a message back to its group, and lets the next one in line.
    static func giveBack(_ entry: LineEntry, ago: Int64, in transaction: Transaction) throws {
        guard let rate = entry.account.policy.ratePerKey, entry.marks.contains(.group),
            let key = try Groups.key(of: entry.sequence, transaction.connection)
        else { return }
        let group = Group(account: entry.account, key: key)
        guard let row = try row(of: group, in: transaction),
            let tat = RateMeter(rate).tat(row.tat, withoutStart: ago, at: transaction.boot.microseconds)
        else { return }
        try transaction.connection.run(writeStart, .integer(entry.account.id), .text(key), .integer(tat))
        try Groups.settleNow(group, in: transaction)
    }

    /// Puts off the starts of a message's group, by the wall clock. What of it is in line for workers is blocked.
    static func hold(_ entry: LineEntry, for duration: Duration, in transaction: Transaction) throws {
        let account = entry.account
        guard entry.marks.contains(.group), account.policy.groups != nil,
            let key = try Groups.key(of: entry.sequence, transaction.connection)
        else { return }
        try RateClock.begin(account, in: transaction)
        account.hasGroupRates = true
        let until = (transaction.now + duration).microseconds.clamped(to: StoredRange.times)
        try transaction.connection.run(writeHold, .integer(account.id), .text(key), .integer(until))
        try Groups.settleNow(Group(account: account, key: key), in: transaction)
    }

    /// Ends what puts a group off, and has it seen anew whether it waits. Its rate still holds.
    static func resume(_ key: String, _ account: QueueAccount, in transaction: Transaction) throws {
        guard try hasRows(account, transaction.connection) else { return }
        try transaction.connection.run(deleteHold, .integer(account.id), .text(key))
        if try transaction.connection.changesCount() > 0 {
            try Groups.note(Group(account: account, key: key), transaction.connection)
        }
    }

    /// Ready messages of a group that may not start yet, or are more than one while there is a rate: those that would come last.
    static func tooEarly(_ group: Group, limit: Int, in transaction: Transaction) throws -> [Int64] {
        let connection = transaction.connection
        let rate = group.account.policy.ratePerKey
        if rate == nil, try !hasRows(group.account, connection) { return [] }
        let opens = try row(of: group, in: transaction)?.opens ?? 0
        let most: Int64 = opens > transaction.boot.microseconds ? 0 : rate == nil ? .max : 1
        return try Permits.lastReady(of: group, beyond: most, limit: limit, connection)
    }

    /// Forgets that a group waits, as what it waits by has changed; one that was put off still is. Whether it waits is asked anew.
    static func reopen(_ group: Group, in transaction: Transaction) throws {
        if try !hasRows(group.account, transaction.connection) { return }
        guard let row = try row(of: group, in: transaction) else { return }
        if row.isHeld {
            try wait(group, until: row, in: transaction)
        } else if row.opensAt != nil {
            try transaction.connection.run(endWait, .integer(group.account.id), .text(group.key))
        }
    }

    /// Lets messages in line whose groups have waited for their time, those of up to ``Limits/regroupCountMax`` messages.
    ///
    /// - Returns: whether none is left whose time has come.
    static func openDue(_ account: QueueAccount, in transaction: Transaction) throws -> Bool {
        let connection = transaction.connection
        guard try hasRows(account, connection) else { return true }
        var left = Limits.regroupCountMax
        let limit = Value.integer(Int64(left))
        if account.policy.groups == nil {
            // There is nothing left that these say something of.
            try connection.run(deleteAny, .integer(account.id), limit)
            return true
        }
        try RateClock.adopt(account, in: transaction)
        let boot = Value.integer(transaction.boot.microseconds)
        let keys = try connection.all(selectDue, .integer(account.id), boot, limit) { $0.text(0) ?? "" }
        for key in keys {
            if left <= 0 { return false }
            let group = Group(account: account, key: key)
            left -= 1
            try reopen(group, in: transaction)
            try Groups.permitNext(of: group, &left, in: transaction)
            if left <= 0 { try Groups.note(group, connection) }
        }
        try connection.run(
            deletePassed, .integer(account.id), boot, .integer(transaction.now.microseconds), limit)
        return left > 0
    }

    /// When the next group of a queue goes on that waits for its time. Now, if that is on another clock, or the wall clock was set: a
    /// transaction has to look.
    static func nextOpening(
        _ queueID: Int64, _ boot: BootTime, _ now: Timestamp, _ connection: Connection
    ) throws -> Timestamp? {
        let first = try connection.first(readFirst, .integer(queueID)) {
            ($0.integer(0), RateClock.Reading(clock: $0.text(1), offset: $0.integer(2)))
        }
        guard let (opens, reading) = first else { return nil }
        return reading.isCurrent(boot, now) ? RateClock.wall(opens, boot, now) : now
    }

    /// Until when a group waits, on the boot clock and as the rate is now.
    struct Row {
        var tat: Int64
        var opensAt: Int64?
        /// Whether somebody has put it off.
        var isHeld = false
        /// From when on it may go on.
        var opens: Int64 = 0
    }

    private static func row(of group: Group, in transaction: Transaction) throws -> Row? {
        try RateClock.adopt(group.account, in: transaction)
        let meter = RateMeter(group.account.policy.ratePerKey)
        let boot = transaction.boot.microseconds
        return try transaction.connection.first(read, .integer(group.account.id), .text(group.key)) { row in
            let tat = meter.kept(row.integer(0), at: boot)
            let held = row.integer(1) - transaction.now.microseconds
            return Row(
                tat: tat, opensAt: row.optionalInteger(2), isHeld: held > 0,
                opens: max(meter.opens(tat), held > 0 ? boot + held : 0))
        }
    }

    /// Has a group wait, and workers learn until when.
    private static func wait(_ group: Group, until row: Row, in transaction: Transaction) throws {
        try transaction.connection.run(
            writeWait, .integer(group.account.id), .text(group.key), .integer(row.tat), .integer(max(0, row.opens)))
        group.account.ring(messages: 1)
    }

    /// Whether a group of the queue has started lately, or was put off. Asked once in a transaction.
    private static func hasRows(_ account: QueueAccount, _ connection: Connection) throws -> Bool {
        if let known = account.hasGroupRates { return known }
        let found = try connection.has(anyRow, .integer(account.id))
        account.hasGroupRates = found
        return found
    }

    private static let read = Query(
        "SELECT tat, held_until, opens_at FROM penstock_group_rate WHERE queue_id = ?1 AND group_key = ?2")
    private static let anyRow = Query("SELECT 1 FROM penstock_group_rate WHERE queue_id = ?1 LIMIT 1")
    private static let writeStart = Query(
        """
        INSERT INTO penstock_group_rate (queue_id, group_key, tat) VALUES (?1, ?2, ?3)
        ON CONFLICT (queue_id, group_key) DO UPDATE SET tat = excluded.tat
        """)
    private static let writeHold = Query(
        """
        INSERT INTO penstock_group_rate (queue_id, group_key, tat, held_until) VALUES (?1, ?2, 0, ?3)
        ON CONFLICT (queue_id, group_key) DO UPDATE SET held_until = max(penstock_group_rate.held_until, excluded.held_until)
        """)
    private static let deleteHold = Query(
        """
        UPDATE penstock_group_rate SET held_until = 0, opens_at = NULL WHERE queue_id = ?1 AND group_key = ?2
        """)
    private static let writeWait = Query(
        """
        UPDATE penstock_group_rate SET tat = ?3, opens_at = ?4
        WHERE queue_id = ?1 AND group_key = ?2 AND (tat, opens_at) IS NOT (?3, ?4)
        """)
    private static let endWait = Query(
        "UPDATE penstock_group_rate SET opens_at = NULL WHERE queue_id = ?1 AND group_key = ?2")
    private static let selectDue = Query(
        """
        SELECT group_key FROM penstock_group_rate WHERE queue_id = ?1 AND opens_at <= ?2
        ORDER BY opens_at, group_key LIMIT ?3
        """)
    private static let readFirst = Query(
        """
        SELECT opens_at, rate.clock, coalesce(rate.wall_offset, 0) FROM penstock_group_rate AS held
        LEFT JOIN penstock_rate AS rate ON rate.queue_id = held.queue_id
        WHERE held.queue_id = ?1 AND opens_at IS NOT NULL ORDER BY opens_at LIMIT 1
        """)
    private static let deletePassed = Query(
        """
        DELETE FROM penstock_group_rate WHERE queue_id = ?1 AND group_key IN (
            SELECT group_key FROM penstock_group_rate
            WHERE queue_id = ?1 AND opens_at IS NULL AND tat <= ?2 AND held_until <= ?3 ORDER BY tat LIMIT ?4)
        """)
    private static let deleteAny = Query(
        """
        DELETE FROM penstock_group_rate WHERE queue_id = ?1 AND group_key IN (
            SELECT group_key FROM penstock_group_rate WHERE queue_id = ?1 LIMIT ?2)
        """)
}
