import PenstockCore
import PenstockSchedules

/// Enqueueing what schedules ask for.
///
/// A firing is one transaction: its row in `penstock_firing`, its message, and the schedule's next due time, which is changed
/// only where it is still the one that was read. Whatever dies when, each firing happens once.
enum Firing {
    /// Schedules that one transaction looks at, at most, and messages that it enqueues for them, but for those of the last one. It ends behind
    /// a schedule with which its time is used up.
    static let stepMax = 1000

    /// Fires what is due.
    ///
    /// - Parameter queueID: of that queue alone; `nil`: of all.
    /// - Returns: whether more is left to do now.
    static func fireDue(
        of queueID: Int64?, _ zones: ZoneReader = ZoneReader(), in transaction: Transaction
    ) throws -> Bool {
        var (enqueuedCount, firedAny) = (0, false)
        var left = Left()
        var ids: [Int64]
        repeat {
            ids = try due(of: queueID, after: left, in: transaction)
            for id in ids {
                if enqueuedCount >= stepMax || firedAny && transaction.isOverdue { return true }
                guard let row = try row(id, transaction.connection) else { continue }
                guard let count = try fire(row, zones, in: transaction) else {
                    left.add(row)
                    continue
                }
                (enqueuedCount, firedAny) = (enqueuedCount + count, true)
            }
        } while !firedAny && ids.count >= stepMax
        guard firedAny else { return false }
        guard ids.count < stepMax else { return true }
        // Schedules of which so many firings are made good that one transaction does not take them.
        return try enqueuedCount > 0 && !due(of: queueID, after: left, in: transaction).isEmpty
    }

    /// Reckons when a schedule fires next, which nobody has yet.
    static func reckon(
        _ row: ScheduleRow, _ zones: ZoneReader = ZoneReader(), in transaction: Transaction
    ) throws {
        _ = try fire(row, zones, in: transaction)
    }

    static func row(_ id: Int64, _ connection: Connection) throws -> ScheduleRow? {
        try connection.first(selectRow, .integer(id), read: ScheduleRow.init)
    }

    /// Does what one schedule asks for now: reckons its next firing, fires, or writes down why it cannot.
    ///
    /// - Returns: how many messages came of it; `nil` when this machine can do nothing for it.
    private static func fire(_ row: ScheduleRow, _ zones: ZoneReader, in transaction: Transaction) throws -> Int? {
        let (now, connection) = (transaction.now, transaction.connection)
        guard let name = try zoneName(of: row, in: connection) else { return 0 }
        guard let zone = try zone(name, of: row, zones, in: connection) else { return nil }
        let isAhead = row.isAhead(of: now)
        let rule: FiringRule
        do {
            rule = try FiringRule(row.schedule, zone: zone, anchor: isAhead ? min(row.anchor, now) : row.anchor)
        } catch {
            try note(error, of: row, isFinal: true, in: transaction.connection)
            return 0
        }
        var due = row.nextDue.flatMap { $0 == ScheduleRow.never ? nil : Timestamp(microseconds: $0) }
        var from = row.reckonedFrom ?? now
        if row.nextDue == nil || isAhead {
            // The clock may have been set back a little since the last firing: nothing fires again.
            from = isAhead ? now : max(now, from)
            due = rule.next(after: from)
        } else if row.zoneData != zone.fingerprint {
            due = rule.next(after: from)
        }
        // A clock that was far behind has begun it anew. What is on record has fired all the same.
        if let first = due, first <= now, let fired = try lastFired(row, at: now, connection), fired >= first {
            due = rule.next(after: fired)
        }
        var plan = FiringPlan()
        if let due, due <= now {
            plan = rule.plan(from: due, at: now)
            from = plan.next.map { $0 > now } ?? true ? now : plan.firings.last ?? now
        } else {
            plan.next = due
        }
        // Before the messages: what another transaction has fired is not fired by this one.
        try connection.run(
            advance, .integer(row.id), .integer(row.revision), Value(row.nextDue),
            .integer(plan.next?.microseconds ?? ScheduleRow.never), .integer(from.microseconds),
            .integer(zone.fingerprint), .integer(Int64(plan.missedCount)))
        guard try connection.changesCount() == 1 else { return 0 }
        if isAhead { try beginAnew(row, at: now, connection) }
        var count = 0
        do {
            for firing in plan.firings where try enqueue(row, due: firing, in: transaction) { count += 1 }
        } catch let error as PenstockError where error.isRefusal {
            // It must not keep the queue's messages from those who claim. A queue that has no groups may have some again.
            let isForGroups = row.schedule.message.group != nil
            try note(error, of: row, isFinal: !isForGroups, in: transaction.connection)
        }
        try keep(row, firedCount: count, in: connection)
        return count
    }

    /// Writes down that a schedule goes by the clock as it is now.
    private static func beginAnew(_ row: ScheduleRow, at now: Timestamp, _ connection: Connection) throws {
        try connection.run(
            anew, .integer(row.id), .integer(min(row.anchor, now).microseconds), .text(ClockAhead.problem))
        try forgetAhead(row, at: now, connection)
    }

    /// Forgets firings far ahead of the clock, which would be the last ones on record for as long. The newest stays: should it be this clock
    /// that is wrong, nothing up to it fires again.
    static func forgetAhead(_ row: ScheduleRow, at now: Timestamp, _ connection: Connection) throws {
        try connection.run(deleteAhead, .integer(row.id), .integer((now + ClockAhead.most).microseconds))
    }

    /// The last firing on record that is not after `now`.
    private static func lastFired(
        _ row: ScheduleRow, at now: Timestamp, _ connection: Connection
    ) throws -> Timestamp? {
        try connection.first(selectFired, .integer(row.id), .integer(now.microseconds)) {
            Timestamp(microseconds: $0.integer(0))
        }
    }

    /// The name of a schedule's zone; `nil` when it is one that no zone can have, which is the end of the schedule.
    private static func zoneName(of row: ScheduleRow, in connection: Connection) throws -> ZoneName? {
        do {
            return try ZoneName(row.schedule.zone)
        } catch {
            try note(error, of: row, isFinal: true, in: connection)
            return nil
        }
    }

    /// The zone; `nil` when this machine cannot read it, which is on record then. Another machine may have data of it, or this
    /// one tomorrow.
    private static func zone(
        _ name: ZoneName, of row: ScheduleRow, _ zones: ZoneReader, in connection: Connection
    ) throws -> Zone? {
        do {
            return try zones.zone(name)
        } catch {
            try note(error, of: row, isFinal: false, known: row.problem, in: connection)
            return nil
        }
    }

    private static func enqueue(_ row: ScheduleRow, due: Timestamp, in transaction: Transaction) throws -> Bool {
        let connection = transaction.connection
        if try connection.has(selectFiring, .integer(row.id), .integer(due.microseconds)) { return false }
        var message = row.schedule.message
        if row.schedule.jitter > .zero {
            let delay = Double(row.schedule.jitter.wholeMicroseconds) * transaction.random.nextUnit()
            message.putOff(to: due + .microseconds(Int64(delay)), now: transaction.now)
        }
        let (outcome, sequence) = try accept(message, of: row, in: transaction)
        try connection.run(
            insertFiring, .integer(row.id), .integer(due.microseconds), .integer(transaction.now.microseconds),
            .text(outcome.rawValue), Value(sequence))
        return outcome == .enqueued
    }

    /// Puts a schedule's message in line.
    static func accept(
        _ message: NewMessage, of row: ScheduleRow, in transaction: Transaction
    ) throws -> (outcome: FiringRecord.Outcome, sequence: Int64?) {
        do {
            let receipts = try Enqueue.perform(
                [message], to: row.schedule.queue, durability: .processCrash, in: transaction)
            // A queue that has its producers wait has no room.
            guard let receipt = receipts.first else { return (.queueFull, nil) }
            if receipt.state == .dropped { return (.queueFull, receipt.sequence.rawValue) }
            return (receipt.skipped ? .skipped : .enqueued, receipt.sequence.rawValue)
        } catch let error as PenstockError where error.code == .queueFull {
            return (.queueFull, nil)
        }
    }

    /// Counts, and forgets firings beyond those that are kept.
    static func keep(_ row: ScheduleRow, firedCount: Int, in connection: Connection) throws {
        if firedCount > 0 { try connection.run(countFired, .integer(row.id), .integer(Int64(firedCount))) }
        try connection.run(forget, .integer(row.id), .integer(Int64(Limits.firingsKeptMax)))
    }

    /// Writes down why a schedule cannot fire. Where that is final, nobody tries again until it is changed.
    ///
    /// - Parameter known: what is on record as its problem.
    private static func note(
        _ error: PenstockError, of row: ScheduleRow, isFinal: Bool, known: String? = nil, in connection: Connection
    ) throws {
        if isFinal {
            try connection.run(giveUp, .integer(row.id), .text(error.message), .integer(ScheduleRow.never))
        } else if known != error.message {
            try connection.run(setProblem, .integer(row.id), .text(error.message))
        }
    }

    private static let selectRow = Query(
        "SELECT \(ScheduleRow.columns) FROM \(ScheduleRow.tables) WHERE schedule.id = ?1")
    /// A sum that stays within 64 bits: what was counted may have been written by hand, and must not stop a firing.
    private static func sum(_ total: String, _ count: String) -> String {
        "min(\(total), \(Int64.max) - \(count)) + \(count)"
    }

    private static let advance = Query(
        """
        UPDATE penstock_schedule SET next_due = ?4, reckoned_from = ?5, zone_data = ?6, missed_total = \(sum("missed_total", "?7")),
            problem = NULL
        WHERE id = ?1 AND revision = ?2 AND next_due IS ?3
        """)
    private static let anew = Query("UPDATE penstock_schedule SET anchor = ?2, problem = ?3 WHERE id = ?1")
    private static let deleteAhead = Query(
        """
        DELETE FROM penstock_firing WHERE schedule_id = ?1 AND due > ?2 AND due < (
            SELECT due FROM penstock_firing WHERE schedule_id = ?1 AND outcome <> 'byHand' ORDER BY due DESC LIMIT 1)
        """)
    private static let selectFired = Query(
        "SELECT due FROM penstock_firing WHERE schedule_id = ?1 AND due <= ?2 AND outcome <> 'byHand' ORDER BY due DESC LIMIT 1"
    )
    private static let selectFiring = Query("SELECT 1 FROM penstock_firing WHERE schedule_id = ?1 AND due = ?2")
    static let insertFiring = Query(
        "INSERT OR IGNORE INTO penstock_firing (schedule_id, due, fired_at, outcome, sequence) VALUES (?1, ?2, ?3, ?4, ?5)"
    )
    private static let countFired = Query(
        "UPDATE penstock_schedule SET fired_total = \(sum("fired_total", "?2")) WHERE id = ?1")
    private static let forget = Query(
        """
        DELETE FROM penstock_firing WHERE schedule_id = ?1 AND due <= (
            SELECT due FROM penstock_firing WHERE schedule_id = ?1 ORDER BY due DESC LIMIT 1 OFFSET ?2)
        """)
    private static let setProblem = Query("UPDATE penstock_schedule SET problem = ?2 WHERE id = ?1")
    private static let giveUp = Query(
        "UPDATE penstock_schedule SET problem = ?2, next_due = ?3, reckoned_from = NULL WHERE id = ?1")
}
