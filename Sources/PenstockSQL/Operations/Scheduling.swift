package import PenstockCore
import PenstockSchedules

/// Making, changing and reading schedules.
package enum Scheduling {
    /// Carries out one call of ``MessageStore/schedule(_:_:)``; the schedule was checked.
    package static func perform(
        _ change: ScheduleChange, _ name: ScheduleName, in transaction: Transaction
    ) throws -> ScheduleRecord? {
        let connection = transaction.connection
        var skipped: FiringRecord?
        if case .put(let schedule, let isReplacing) = change {
            try put(schedule, name, isReplacing: isReplacing, in: transaction)
        } else {
            guard let row = try row(name, connection) else { throw PenstockError.unknown(name) }
            try transaction.account(of: row.schedule.queue).refuseArriving(in: transaction)
            switch change {
            case .put: break
            case .pause: try connection.run(setPaused, .integer(row.id), 1)
            case .resume: if row.isPaused { try connection.run(setPaused, .integer(row.id), 0) }
            case .run: skipped = try run(row, in: transaction)
            case .remove:
                try connection.run(delete, .integer(row.id))
                try transaction.queuesChanged()
                return nil
            }
        }
        guard let row = try row(name, connection) else { return nil }
        // What is due is fired by a claim. Workers that sleep until another time look again.
        if row.nextDue == nil || row.isAhead(of: transaction.now), !row.isPaused {
            try Firing.reckon(row, in: transaction)
        }
        transaction.ringAll(row.schedule.queue)
        var record = try record(name, connection)
        if let skipped { record?.firings.insert(skipped, at: 0) }
        return record
    }

    package static func records(_ name: ScheduleName?, _ connection: Connection) throws -> [ScheduleRecord] {
        if let name {
            guard let record = try record(name, connection) else { throw PenstockError.unknown(name) }
            return [record]
        }
        return try connection.all(selectAll, read: ScheduleRow.init).map { $0.record([]) }
    }

    package static func records(page query: ScheduleQuery, _ connection: Connection) throws -> [ScheduleRecord] {
        let statement = try connection.statement(selectAfter)
        defer { statement.reset() }
        statement.bind(query.after?.text ?? "", at: 1)
        statement.bind(Int64(query.limit), at: 2)
        var records: [ScheduleRecord] = []
        var bytes = 0
        while bytes <= Limits.logPageBytesMax, try statement.step() {
            let record = try ScheduleRow(statement).record([])
            bytes += record.schedule.message.payload.count
            records.append(record)
        }
        return records
    }

    private static func record(_ name: ScheduleName, _ connection: Connection) throws -> ScheduleRecord? {
        guard let row = try row(name, connection) else { return nil }
        let firings = try connection.all(selectFirings, .integer(row.id)) { found in
            FiringRecord(
                due: Timestamp(microseconds: found.integer(0)), firedAt: Timestamp(microseconds: found.integer(1)),
                outcome: found.text(2).flatMap(FiringRecord.Outcome.init) ?? .enqueued,
                sequence: found.optionalInteger(3).map { SequenceNumber($0) })
        }
        return row.record(firings)
    }

    private static func row(_ name: ScheduleName, _ connection: Connection) throws -> ScheduleRow? {
        try connection.first(selectNamed, .text(name.text), read: ScheduleRow.init)
    }

    private static func put(
        _ schedule: Schedule, _ name: ScheduleName, isReplacing: Bool, in transaction: Transaction
    ) throws {
        let account = try transaction.account(of: schedule.queue)
        try account.refuseDeleting(in: transaction)
        let message = schedule.message
        try GroupKey.refuse([message], schedule.queue, account.policy)
        let known = try row(name, transaction.connection)
        if let known {
            guard isReplacing else { throw PenstockError.exists(name) }
            try transaction.account(of: known.schedule.queue).refuseArriving(in: transaction)
        } else {
            try NameRules.refuseUnseen(name.text, of: "schedule")
        }
        // A program that says at each of its starts what it wants loses no firing by that, though its payload may be other bytes each time:
        // encrypted ones are, and those of a set.
        let stays = known.map { $0.schedule.hasTimes(of: schedule) && !$0.hasGivenUp } ?? false
        if stays, let known, known.schedule.isSame(as: schedule) { return }
        let anchor = stays ? known?.anchor ?? transaction.now : transaction.now
        let statement = try transaction.connection.statement(known == nil ? insert : stays ? update : begin)
        defer { statement.reset() }
        let values: [Value] = [
            .text(name.text), .integer(account.id), .text(schedule.spec), .text(schedule.zone),
            Value(HeaderText.encode(message.headers)), .integer(Int64(message.priority)),
            Value(message.attemptsMax.map(Int64.init)), Value(message.uniqueKey?.key),
            .text((message.uniqueKey?.onConflict ?? .skip).rawValue), .text(schedule.missed.rawValue),
            .integer(schedule.window.wholeMicroseconds), .integer(schedule.jitter.wholeMicroseconds),
            Value(schedule.starts?.microseconds), Value(schedule.ends?.microseconds),
            .integer(anchor.microseconds), Value(message.group),
            Value(message.uniqueKey?.scope.stored), Value(schedule.expiresAfter),
        ]
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        try message.payload.withUnsafeBytes { bytes in
            statement.bind(uncopied: bytes, at: values.count + 1)
            try statement.run()
        }
        if let known, !stays { try Firing.forgetAhead(known, at: transaction.now, transaction.connection) }
        try transaction.queuesChanged()
    }

    /// - Returns: what is told, and not kept, of a run of which no message came: on record it would be a firing that was due by the spec.
    private static func run(_ row: ScheduleRow, in transaction: Transaction) throws -> FiringRecord? {
        let connection = transaction.connection
        let (outcome, sequence) = try Firing.accept(row.schedule.message, of: row, in: transaction)
        if outcome == .queueFull {
            throw PenstockError(
                .queueFull, "The queue '\(row.schedule.queue)' is full; try again when some messages are worked.")
        }
        let now = transaction.now
        guard outcome == .enqueued else {
            return FiringRecord(due: now, firedAt: now, outcome: outcome, sequence: sequence.map { SequenceNumber($0) })
        }
        try connection.run(
            Firing.insertFiring, .integer(row.id), .integer(now.microseconds), .integer(now.microseconds),
            .text(FiringRecord.Outcome.byHand.rawValue), Value(sequence))
        try Firing.keep(row, firedCount: 1, in: connection)
        return nil
    }

    private static let selectNamed = Query(
        "SELECT \(ScheduleRow.columns) FROM \(ScheduleRow.tables) WHERE schedule.name = ?1")
    private static let selectAll = Query(
        "SELECT \(ScheduleRow.columns) FROM \(ScheduleRow.tables) ORDER BY schedule.name")
    private static let selectAfter = Query(
        """
        SELECT \(ScheduleRow.columns) FROM \(ScheduleRow.tables) WHERE schedule.name > ?1 ORDER BY schedule.name LIMIT ?2
        """)
    private static let selectFirings = Query(
        "SELECT due, fired_at, outcome, sequence FROM penstock_firing WHERE schedule_id = ?1 ORDER BY due DESC")
    private static let insert = Query(
        """
        INSERT INTO penstock_schedule (name, queue_id, spec, zone, headers, priority, attempts_max, unique_key, on_conflict,
            missed, missed_window, jitter, starts_at, ends_at, anchor, group_key, key_scope, expires_after, payload)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
        """)
    private static let update = Query("\(change) WHERE name = ?1")
    private static let begin = Query(
        "\(change), next_due = NULL, reckoned_from = NULL, problem = NULL WHERE name = ?1")
    private static let change = """
        UPDATE penstock_schedule SET queue_id = ?2, spec = ?3, zone = ?4, headers = ?5, priority = ?6, attempts_max = ?7,
            unique_key = ?8, on_conflict = ?9, missed = ?10, missed_window = ?11, jitter = ?12, starts_at = ?13,
            ends_at = ?14, anchor = ?15, group_key = ?16, key_scope = ?17, expires_after = ?18, payload = ?19,
            revision = revision + 1
        """
    private static let setPaused = Query(
        "UPDATE penstock_schedule SET paused = ?2, next_due = NULL, revision = revision + 1 WHERE id = ?1")
    private static let delete = Query("DELETE FROM penstock_schedule WHERE id = ?1")
}
