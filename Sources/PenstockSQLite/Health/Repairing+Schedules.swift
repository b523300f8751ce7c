import GRDB
import PenstockCore
import PenstockSQL

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
