import PenstockCore

/// How many messages of a queue may start now, by its rate.
///
/// What is kept is one number in `penstock_rate`, and one for each group in `penstock_group_rate`, on the boot clock: nobody can
/// set it, and a process that dies has nothing to give back that it took.
enum Rates {
    /// How many messages more of a queue may start now; `nil`: any number.
    static func room(of account: QueueAccount, in transaction: Transaction) throws -> Int? {
        guard let rate = account.policy.rate else { return nil }
        let tat = try tat(of: account, RateMeter(rate), in: transaction)
        let count = RateMeter(rate).startCount(tat, at: transaction.boot.microseconds)
        return Int(min(count, Int64(Limits.batchCountMax)))
    }

    /// Writes down that so many messages of a queue start.
    static func started(_ count: Int, of account: QueueAccount, in transaction: Transaction) throws {
        guard let rate = account.policy.rate, count > 0 else { return }
        let meter = RateMeter(rate)
        let before = try tat(of: account, meter, in: transaction)
        let tat = meter.tat(before, afterStarts: Int64(count), at: transaction.boot.microseconds)
        try RateClock.begin(account, in: transaction)
        try transaction.connection.run(write, .integer(account.id), .integer(tat))
    }

    /// Gives the start of a message back with which no worker has begun, to its queue and its group.
    static func giveBack(_ entry: LineEntry, claimedAt: Int64, in transaction: Transaction) throws {
        let (account, ago) = (entry.account, transaction.now.microseconds.elapsed(since: claimedAt))
        if let rate = account.policy.rate {
            let meter = RateMeter(rate)
            let before = try tat(of: account, meter, in: transaction)
            if let tat = meter.tat(before, withoutStart: ago, at: transaction.boot.microseconds) {
                try transaction.connection.run(write, .integer(account.id), .integer(tat))
                account.ring(messages: 1)
            }
        }
        try GroupRates.giveBack(entry, ago: ago, in: transaction)
    }

    /// When the next message of a queue may start.
    static func opens(_ account: QueueAccount, in transaction: Transaction) throws -> Timestamp? {
        guard let rate = account.policy.rate else { return nil }
        let tat = try tat(of: account, RateMeter(rate), in: transaction)
        return RateClock.wall(RateMeter(rate).opens(tat), transaction.boot, transaction.now)
    }

    /// When the next message of a queue may start, asked outside of a transaction; `nil`: now, or a transaction has to look.
    static func opens(
        _ queueID: Int64, _ rate: Rate, _ boot: BootTime, _ now: Timestamp, _ connection: Connection
    ) throws -> Timestamp? {
        let row = try connection.first(read, .integer(queueID)) {
            ($0.optionalInteger(0), RateClock.Reading(clock: $0.text(1), offset: $0.integer(2)))
        }
        guard let row, let tat = row.0, row.1.isCurrent(boot, now) else { return nil }
        let meter = RateMeter(rate)
        guard meter.kept(tat, at: boot.microseconds) == tat else { return nil }
        let opens = meter.opens(tat)
        return opens > boot.microseconds ? RateClock.wall(opens, boot, now) : nil
    }

    /// The number of a queue. One that another rate has left, further ahead than this one would be, is moved back for good:
    /// otherwise it would be as far ahead at the next look.
    private static func tat(
        of account: QueueAccount, _ meter: RateMeter, in transaction: Transaction
    ) throws -> Int64 {
        try RateClock.adopt(account, in: transaction)
        let found = try transaction.connection.first(read, .integer(account.id)) { $0.optionalInteger(0) }
        guard let found, let tat = found else { return 0 }
        let kept = meter.kept(tat, at: transaction.boot.microseconds)
        if kept != tat { try transaction.connection.run(write, .integer(account.id), .integer(kept)) }
        return kept
    }

    private static let read = Query("SELECT tat, clock, wall_offset FROM penstock_rate WHERE queue_id = ?1")
    private static let write = Query("UPDATE penstock_rate SET tat = ?2 WHERE queue_id = ?1")
}
