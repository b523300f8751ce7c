import PenstockCore

/// How many messages of a queue may start now, by its rate.
///
/// What is kept is one number in `penstock_rate`, and one for each group in `penstock_group_rate`, on the boot clock: nobody can
/// set it, and no process has anything to give back that it took.
enum Rates {
    /// How many messages more of a queue may start now; `nil`: any number.
    static func room(of account: QueueAccount, in transaction: Transaction) throws -> Int? {
        guard let rate = account.policy.rate else { return nil }
        let tat = try tat(of: account, in: transaction)
        let count = RateMeter(rate).startCount(tat, at: transaction.time.boot.microseconds)
        return Int(min(count, Int64(Limits.batchCountMax)))
    }

    /// Writes down that so many messages of a queue start.
    static func started(_ count: Int, of account: QueueAccount, in transaction: Transaction) throws {
        guard let rate = account.policy.rate, count > 0 else { return }
        let before = try tat(of: account, in: transaction)
        let tat = RateMeter(rate).tat(before, afterStarts: Int64(count), at: transaction.time.boot.microseconds)
        try makeRow(account, in: transaction)
        try transaction.connection.run(write, .integer(account.id), .integer(tat))
    }

    /// When the next message of a queue may start.
    static func opens(_ account: QueueAccount, in transaction: Transaction) throws -> Timestamp? {
        guard let rate = account.policy.rate else { return nil }
        return RateClock.wall(
            RateMeter(rate).opens(try tat(of: account, in: transaction)), transaction.time.boot, transaction.now)
    }

    /// When the next message of a queue may start, asked outside of a transaction; `nil`: now, or a transaction has to look.
    static func opens(
        _ queueID: Int64, _ rate: Rate, _ boot: BootTime, _ now: Timestamp, _ connection: Connection
    ) throws -> Timestamp? {
        let row = try connection.first(read, .integer(queueID)) { ($0.optionalInteger(0), $0.text(1)) }
        guard let row, let tat = row.0, row.1 == boot.bootID else { return nil }
        let opens = RateMeter(rate).opens(tat)
        return opens > boot.microseconds ? RateClock.wall(opens, boot, now) : nil
    }

    /// Makes sure that the queue has a row which says whose clock its numbers are read on.
    static func makeRow(_ account: QueueAccount, in transaction: Transaction) throws {
        try RateClock.adopt(account, in: transaction)
        let boot = transaction.time.boot
        try transaction.connection.run(
            insert, .integer(account.id), .text(boot.bootID),
            .integer(boot.microseconds - transaction.now.microseconds))
    }

    private static func tat(of account: QueueAccount, in transaction: Transaction) throws -> Int64 {
        try RateClock.adopt(account, in: transaction)
        let kept = try transaction.connection.first(read, .integer(account.id)) { $0.optionalInteger(0) }
        return (kept ?? nil) ?? 0
    }

    private static let read = Query("SELECT tat, clock FROM penstock_rate WHERE queue_id = ?1")
    private static let insert = Query(
        "INSERT OR IGNORE INTO penstock_rate (queue_id, tat, clock, wall_offset) VALUES (?1, NULL, ?2, ?3)")
    private static let write = Query("UPDATE penstock_rate SET tat = ?2 WHERE queue_id = ?1")
}

/// On which boot clock the numbers of a queue's rates are.
enum RateClock {
    /// Reckons the numbers of a queue anew when they are on another clock: the machine was started anew, or the process that wrote
    /// them reads another one. By the wall clock then, and no later than a rate that was just used up would say: should the wall
    /// clock be wrong, nothing waits for long.
    static func adopt(_ account: QueueAccount, in transaction: Transaction) throws {
        if account.hasRateClock { return }
        account.hasRateClock = true
        let connection = transaction.connection
        let boot = transaction.time.boot
        let row = try connection.first(read, .integer(account.id)) { ($0.text(0), $0.integer(1)) }
        guard let (clock, offset) = row, clock != boot.bootID else { return }
        let own = boot.microseconds - transaction.now.microseconds
        let (moved, overflow) = own.subtractingReportingOverflow(offset)
        let shift = overflow ? 0 : moved
        func latest(_ rate: Rate?) -> Value {
            let meter = RateMeter(rate)
            return .integer(boot.microseconds + meter.interval + meter.tolerance)
        }
        try connection.run(
            shiftQueue, .integer(account.id), .integer(shift), latest(account.policy.rate), .text(boot.bootID),
            .integer(own))
        try connection.run(shiftGroups, .integer(account.id), .integer(shift), latest(account.policy.ratePerKey))
    }

    /// A moment of the boot clock on the wall clock, as both are read now.
    static func wall(_ moment: Int64, _ boot: BootTime, _ now: Timestamp) -> Timestamp {
        let (left, overflow) = moment.subtractingReportingOverflow(boot.microseconds)
        return now + .microseconds(overflow ? 0 : max(0, left))
    }

    private static let read = Query("SELECT clock, wall_offset FROM penstock_rate WHERE queue_id = ?1")
    private static let shiftQueue = Query(
        "UPDATE penstock_rate SET tat = min(tat + ?2, ?3), clock = ?4, wall_offset = ?5 WHERE queue_id = ?1")
    private static let shiftGroups = Query(
        "UPDATE penstock_group_rate SET tat = min(tat + ?2, ?3) WHERE queue_id = ?1")
}
