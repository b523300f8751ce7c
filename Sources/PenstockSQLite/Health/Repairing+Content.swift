import GRDB
import PenstockCore
import PenstockProcesses
import PenstockSQL

/// What rows of messages say, and cannot.
extension Repairing {
    /// Removes rows of workers whose name is no worker's. Any running worker puts back what they are said to hold.
    mutating func removeStrayWorkers() throws {
        let ids = try WorkerRow.strays(unless: WorkerLock.isName, SQLiteConnection(database)).map { String($0.id) }
            .joined(separator: ", ")
        try change(
            .wrongWorkers,
            "COUNT {row|rows} of penstock_worker that named a file which no worker makes {was|were} removed.",
            "DELETE FROM penstock_worker WHERE id IN (\(ids))")
    }

    /// Takes away headers that count as none already, and those that break the rules.
    mutating func clearHeaders() throws {
        for (condition, reason, what) in [
            (ContentInspection.unreadableHeaders, Quarantine.Reason.headers, "could not be read"),
            (ContentInspection.forbiddenHeaders, Quarantine.Reason.headerRules, "broke the rules"),
        ] {
            try keepCopy(of: .log, where: condition, because: reason, withPayload: false)
            try change(
                .wrongHeaders, "COUNT {message|messages} whose headers \(what) {has|have} none; a copy was set aside.",
                "UPDATE penstock_log SET headers = NULL WHERE \(condition)")
        }
    }

    /// Puts times right that cannot be. When a message was due nobody knows: it loses its place, and becomes a dead letter. Nor does anybody know
    /// when it expires: it does so no more, as nothing is to be lost by a guess.
    mutating func repairTimes() throws {
        for (table, column, source) in ContentInspection.times {
            let isImpossible = ContentInspection.isImpossible(column)
            if source == .scheduled {
                try setAside(
                    .wrongTimes, .scheduled, "{is|are} due at a time that cannot be", where: isImpossible,
                    because: Quarantine.Reason.time)
                continue
            }
            if let source {
                try keepCopy(of: source, where: isImpossible, because: Quarantine.Reason.time, withPayload: false)
            }
            if column == ContentInspection.expiry {
                try change(
                    .wrongTimes,
                    "COUNT {message expires|messages expire} no more that did at a time that cannot be; a copy was set aside.",
                    "UPDATE \(table) SET \(column) = NULL WHERE \(isImpossible)")
                continue
            }
            try change(
                .wrongTimes,
                "COUNT {row|rows} of \(table) had a time \(column) that cannot be, and {has|have} the present"
                    + (source == nil ? "." : "; a copy was set aside."),
                "UPDATE \(table) SET \(column) = \(now.microseconds) WHERE \(isImpossible)")
        }
        try letGroupsGo()
    }

    /// Has groups begin again that were put off for good. Any claim goes on with what is noted.
    private mutating func letGroupsGo() throws {
        let isHeld = ContentInspection.isHeldForGood(at: now)
        try database.execute(
            sql: """
                INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
                SELECT queue_id, group_key FROM penstock_group_rate WHERE \(isHeld)
                """)
        try change(
            .wrongTimes,
            "COUNT {group begins|groups begin} again that {was|were} put off for longer than anybody can put one off.",
            "UPDATE penstock_group_rate SET held_until = 0, opens_at = NULL WHERE \(isHeld)")
    }

    /// Brings cursors back to the end of the log that are ahead of it.
    mutating func repairCursors() throws {
        let isAhead = "sequence > (SELECT last_sequence FROM penstock_state)"
        try keepCopy(of: .cursor, where: isAhead, because: "The cursor stands where no log has come to.")
        try change(
            .strayCursor,
            "COUNT {cursor|cursors} that stood where no log has come to {stands|stand} at its end; a copy was set aside.",
            """
            UPDATE penstock_cursor SET sequence = (SELECT last_sequence FROM penstock_state) WHERE \(isAhead)
            """)
    }

    /// Keeps the rows as they are in `penstock_quarantine`.
    func keepCopy(
        of source: QuarantineSource, where condition: String, because reason: String, withPayload: Bool = true
    ) throws {
        try database.execute(
            sql: source.copy(where: condition, now: "?", reason: "?", withPayload: withPayload),
            arguments: [now.microseconds, reason])
    }
}

extension Repairing {
    /// Sets aside the schedules of queues that do not exist.
    mutating func repairSchedules() throws {
        try database.execute(
            sql: """
                INSERT INTO penstock_quarantine (set_aside_at, reason, source, sequence, queue_id, columns, payload)
                SELECT ?, ?, 'penstock_schedule', NULL, queue_id, json_object('name', name, 'spec', spec, 'zone', zone,
                    'headers', headers, 'priority', priority, 'attempts_max', attempts_max, 'unique_key', unique_key,
                    'key_scope', key_scope, 'missed', missed, 'paused', paused), payload
                FROM penstock_schedule WHERE \(ScheduleInspection.isStray)
                """, arguments: [now.microseconds, Quarantine.Reason.noQueue])
        try change(
            .straySchedule, "COUNT {schedule|schedules} of a queue that does not exist {was|were} set aside.",
            "DELETE FROM penstock_schedule WHERE \(ScheduleInspection.isStray)")
    }
}
