import PenstockCore

/// On which boot clock the numbers of a queue's rates are.
enum RateClock {
    /// By how much the wall clock may go another way than the boot clock before that is written down, in microseconds.
    fileprivate static let driftMax: Int64 = 1_000_000

    /// The clock that numbers are on, and by how much it was behind the wall clock.
    struct Reading {
        var clock: String?
        var offset: Int64

        /// Whether a process that reads these clocks has nothing to write down.
        func isCurrent(_ boot: BootTime, _ now: Timestamp) -> Bool {
            clock == boot.bootID && (drift(boot, now).map { $0.magnitude <= driftMax.magnitude } ?? false)
        }

        /// By how much the wall clock has gone another way than the boot clock; `nil`: by more than a number can say.
        func drift(_ boot: BootTime, _ now: Timestamp) -> Int64? {
            let (moved, overflow) = (boot.microseconds - now.microseconds).subtractingReportingOverflow(offset)
            return overflow ? nil : moved
        }
    }

    /// Reckons the numbers of a queue anew when they are on another clock: the machine was started anew, or the process that wrote
    /// them reads another one. By the wall clock then, as that was when a message started last. Should it be wrong, nothing waits
    /// for long: whoever reads a number takes none that is further ahead than a rate that was just used up. When groups go on that
    /// wait for their time is seen anew.
    static func adopt(_ account: QueueAccount, in transaction: Transaction) throws {
        if account.hasRateClock { return }
        account.hasRateClock = true
        let connection = transaction.connection
        let boot = transaction.boot
        let found = try connection.first(read, .integer(account.id)) {
            Reading(clock: $0.text(0), offset: $0.integer(1))
        }
        let own = boot.microseconds - transaction.now.microseconds
        guard let found else {
            // Numbers of groups on a clock that nobody knows, as their row was lost: they count on this one from now on.
            try connection.run(insertForGroups, .integer(account.id), .text(boot.bootID), .integer(own))
            if try connection.changesCount() > 0 {
                try connection.run(openAll, .integer(account.id), .integer(max(0, boot.microseconds)))
            }
            return
        }
        if found.isCurrent(boot, transaction.now) { return }
        if found.clock == boot.bootID {
            try connection.run(writeOffset, .integer(account.id), .integer(own))
            // A worker that put a group off spoke of the wall clock, and that was set.
            try connection.run(openHeld, .integer(account.id), .integer(max(0, boot.microseconds)))
            return
        }
        // Within half of the range, so that no sum overflows: SQLite would go on with a floating-point number.
        let shift = (found.drift(boot, transaction.now) ?? 0).clamped(to: -latest...latest)
        try connection.run(
            shiftQueue, .integer(account.id), .integer(shift), .text(boot.bootID), .integer(own))
        try connection.run(shiftGroups, .integer(account.id), .integer(shift), .integer(max(0, boot.microseconds)))
    }

    /// Sees to it that the queue has a row which says whose clock its numbers are on.
    static func begin(_ account: QueueAccount, in transaction: Transaction) throws {
        try adopt(account, in: transaction)
        let boot = transaction.boot
        try transaction.connection.run(
            insert, .integer(account.id), .text(boot.bootID),
            .integer(boot.microseconds - transaction.now.microseconds))
    }

    /// A moment of the boot clock on the wall clock, as both are read now.
    static func wall(_ moment: Int64, _ boot: BootTime, _ now: Timestamp) -> Timestamp {
        let (left, overflow) = moment.subtractingReportingOverflow(boot.microseconds)
        return now + .microseconds(overflow ? 0 : max(0, left))
    }

    /// The largest number that the tables take.
    private static let latest = Int64.max / 2
    private static let read = Query("SELECT clock, wall_offset FROM penstock_rate WHERE queue_id = ?1")
    private static let insert = Query(
        "INSERT OR IGNORE INTO penstock_rate (queue_id, tat, clock, wall_offset) VALUES (?1, NULL, ?2, ?3)")
    private static let insertForGroups = Query(
        """
        INSERT INTO penstock_rate (queue_id, tat, clock, wall_offset) SELECT ?1, NULL, ?2, ?3
        WHERE EXISTS (SELECT 1 FROM penstock_group_rate WHERE queue_id = ?1)
        """)
    private static let openAll = Query(
        "UPDATE penstock_group_rate SET opens_at = ?2 WHERE queue_id = ?1 AND opens_at IS NOT NULL")
    private static let writeOffset = Query("UPDATE penstock_rate SET wall_offset = ?2 WHERE queue_id = ?1")
    private static let openHeld = Query(
        "UPDATE penstock_group_rate SET opens_at = ?2 WHERE queue_id = ?1 AND held_until > 0 AND opens_at IS NOT NULL")
    private static let shiftQueue = Query(
        """
        UPDATE penstock_rate SET tat = max(0, min(tat + ?2, \(latest))), clock = ?3, wall_offset = ?4 WHERE queue_id = ?1
        """)
    private static let shiftGroups = Query(
        """
        UPDATE penstock_group_rate SET tat = max(0, min(tat + ?2, \(latest))),
            opens_at = CASE WHEN opens_at IS NOT NULL THEN ?3 END
        WHERE queue_id = ?1
        """)
}
