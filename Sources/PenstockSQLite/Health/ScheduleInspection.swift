import GRDB
import PenstockCore
import PenstockSQL

/// Whether every schedule has a queue. One that has none keeps its name from others, and nobody sees it.
enum ScheduleInspection {
    private static let isStray = "queue_id NOT IN (SELECT id FROM penstock_queue)"
    /// Of so many at most each is a finding of its own.
    private static let examplesMax = 100

    static func inspect(_ database: Database, _ report: inout HealthReport) throws {
        let names = try String.fetchAll(
            database,
            sql: "SELECT name FROM penstock_schedule WHERE \(isStray) ORDER BY name LIMIT \(examplesMax)")
        for name in names {
            report.add(
                .straySchedule, .error,
                "The schedule '\(name)' belongs to a queue that does not exist; `penstock doctor --repair` sets it aside."
            )
        }
    }

    /// Sets aside what ``inspect(_:_:)`` finds.
    static func setAside(in repairing: inout Repairing) throws {
        try repairing.database.execute(
            sql: """
                INSERT INTO penstock_quarantine (set_aside_at, reason, source, sequence, queue_id, columns, payload)
                SELECT ?, ?, 'penstock_schedule', NULL, queue_id, json_object('name', name, 'spec', spec, 'zone', zone,
                    'headers', headers, 'priority', priority, 'attempts_max', attempts_max, 'unique_key', unique_key,
                    'key_scope', key_scope, 'missed', missed, 'paused', paused), payload
                FROM penstock_schedule WHERE \(isStray)
                """, arguments: [repairing.now.microseconds, Quarantine.Reason.noQueue])
        try repairing.change(
            .straySchedule, "COUNT {schedule|schedules} of a queue that does not exist {was|were} set aside.",
            "DELETE FROM penstock_schedule WHERE \(isStray)")
    }
}
