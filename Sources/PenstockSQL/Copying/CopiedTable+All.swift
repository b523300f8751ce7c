/// Which tables are copied. What belongs to processes is not: leases, workers, answers. A table that gets rows of messages or of queues in
/// a new migration comes into one of these lists, and so does a new column.
extension CopiedTable {
    static let ofMessages = [log] + line + besides

    private static let log = CopiedTable(
        "log", of: "CROSS JOIN penstock_log AS found ON found.sequence = log.sequence",
        [
            "sequence": .sequence, "queue_id": .queue, "enqueued_at": .integer, "priority": .integer,
            "attempts_max": .integer, "unique_key": .text, "headers": .text, "origin": .sequence, "payload": .bytes,
            "group_key": .text, "turn": .integer, "expires_at": .integer, "key_scope": .integer,
        ])

    /// Where each message is. No message is leased while its store is left.
    private static let line = [
        CopiedTable(
            "pending", of: ofQueueAndMessage("pending"),
            [
                "queue_id": .queue, "sequence": .sequence, "priority": .integer, "attempt": .integer,
                "forgiven": .integer, "marks": .integer,
            ]),
        CopiedTable(
            "scheduled", of: ofMessage("scheduled"),
            [
                "sequence": .sequence, "queue_id": .queue, "due_at": .integer, "priority": .integer,
                "attempt": .integer, "forgiven": .integer, "marks": .integer,
            ]),
        CopiedTable(
            "blocked", of: ofQueueAndMessage("blocked"),
            [
                "queue_id": .queue, "group_key": .text, "priority": .integer, "sequence": .sequence,
                "attempt": .integer, "forgiven": .integer, "marks": .integer,
            ]),
        CopiedTable(
            "ready",
            of: """
                CROSS JOIN penstock_ready AS found ON found.queue_id = log.queue_id AND found.priority = log.priority
                    AND found.turn = log.turn AND found.sequence = log.sequence
                """,
            [
                "queue_id": .queue, "priority": .integer, "turn": .integer, "sequence": .sequence, "attempt": .integer,
                "forgiven": .integer, "marks": .integer, "ready_since": .integer,
            ]),
        CopiedTable(
            "outcome", of: ofQueueAndMessage("outcome"),
            [
                "queue_id": .queue, "sequence": .sequence, "state": .text, "reason": .text, "attempt": .integer,
                "finished_at": .integer,
            ]),
    ]

    private static let besides = [
        CopiedTable(
            "unique",
            of: """
                CROSS JOIN penstock_unique AS found ON found.queue_id = log.queue_id AND found.unique_key = log.unique_key
                    AND found.sequence = log.sequence
                """,
            ["queue_id": .queue, "unique_key": .text, "sequence": .sequence, "since": .integer]),
        CopiedTable(
            "expiry", of: ofMessage("expiry"), ["sequence": .sequence, "queue_id": .queue, "expires_at": .integer]),
        CopiedTable(
            "permit",
            of: """
                CROSS JOIN penstock_permit AS found ON found.queue_id = log.queue_id AND found.group_key = log.group_key
                    AND found.sequence = log.sequence
                """,
            ["queue_id": .queue, "group_key": .text, "sequence": .sequence]),
        CopiedTable(
            "attempt", of: ofMessage("attempt"),
            [
                "sequence": .sequence, "attempt": .integer, "outcome": .text, "error": .text, "worker": .text,
                "started_at": .integer, "ended_at": .integer,
            ]),
        CopiedTable("result", of: ofMessage("result"), ["sequence": .sequence, "result": .bytes]),
        CopiedTable(
            "step", of: ofMessage("step"),
            [
                "sequence": .sequence, "name": .text, "position": .integer, "result": .bytes, "recorded_at": .integer,
            ]),
        CopiedTable(
            "event",
            of: "CROSS JOIN penstock_event AS found ON found.workflow_id = 0 AND found.sequence = log.sequence", event),
        CopiedTable(
            "awaited", of: ofMessage("awaited"), ["sequence": .sequence, "workflow_id": .sequenceOrNone, "name": .text]),
        CopiedTable(
            "task", of: ofMessage("task"),
            [
                "sequence": .sequence, "workflow_id": .sequenceOrNone, "name": .text, "due_at": .integer,
                "delay": .integer,
            ]),
        CopiedTable(
            "dependency", of: "CROSS JOIN penstock_dependency AS found ON found.child = log.sequence",
            ["parent": .sequence, "child": .sequence, "need": .text, "when_dead": .text, "state": .text]),
        // Its first task, whose number it has, may be forgotten by now.
        CopiedTable(
            "workflow", of: "\(ofTask) CROSS JOIN penstock_workflow AS found ON found.id = task.workflow_id",
            isShared: true,
            ["id": .sequence, "name": .text, "started_at": .integer, "cancelled_at": .integer]),
        CopiedTable(
            "event",
            of: """
                \(ofTask) CROSS JOIN penstock_event AS found ON found.workflow_id = task.workflow_id AND found.sequence = 0
                WHERE \(isFirstTask)
                """,
            isShared: true, event),
    ]

    private static let event: KeyValuePairs<String, Kind> = [
        "workflow_id": .sequenceOrNone, "sequence": .sequenceOrNone, "name": .text, "payload": .bytes,
        "emitted_at": .integer,
    ]
    /// Whether a task is the first one that its workflow has left: with that the events of the workflow come, once.
    static let isFirstTask = """
        NOT EXISTS (SELECT 1 FROM penstock_task AS earlier INDEXED BY penstock_task_workflow
            CROSS JOIN penstock_log AS other ON other.sequence = earlier.sequence
            WHERE earlier.workflow_id = task.workflow_id AND earlier.sequence > 0 AND earlier.sequence < task.sequence)
        """
    private static let ofTask = "CROSS JOIN penstock_task AS task ON task.sequence = log.sequence"

    private static func ofMessage(_ name: String) -> String {
        "CROSS JOIN penstock_\(name) AS found ON found.sequence = log.sequence"
    }

    private static func ofQueueAndMessage(_ name: String) -> String {
        "CROSS JOIN penstock_\(name) AS found ON found.queue_id = log.queue_id AND found.sequence = log.sequence"
    }

    /// What goes with queues. Their own rows, and the limits that they share, come before all else.
    static let ofQueues = [
        CopiedTable(
            "unique_period", order: "queue_id, unique_key",
            ["queue_id": .queue, "unique_key": .text, "sequence": .sequence, "until": .integer, "since": .integer]),
        CopiedTable(
            "weight", order: "queue_id, group_key", ["queue_id": .queue, "group_key": .text, "weight": .integer]),
        CopiedTable(
            "group_pause", order: "queue_id, group_key",
            ["queue_id": .queue, "group_key": .text, "paused_at": .integer]),
        CopiedTable(
            "share", order: "queue_id, priority, group_key",
            [
                "queue_id": .queue, "priority": .integer, "group_key": .text, "next_turn": .integer,
                "again_turn": .integer,
            ]),
        CopiedTable("fair", order: "queue_id, priority", ["queue_id": .queue, "priority": .integer, "turn": .integer]),
        // Their numbers are of a boot clock that they name, and go on by the wall clock on another one.
        CopiedTable(
            "group_rate", order: "queue_id, group_key",
            ["queue_id": .queue, "group_key": .text, "tat": .integer, "held_until": .integer, "opens_at": .integer]),
        CopiedTable(
            "rate", order: "queue_id",
            ["queue_id": .queue, "tat": .integer, "clock": .text, "wall_offset": .integer]),
        // To pause a group has noted it.
        CopiedTable(
            "regroup", order: "found.queue_id, found.group_key", isShared: true,
            ["queue_id": .queue, "group_key": .text]),
        CopiedTable(
            "cursor", order: "queue_id, name",
            [
                "queue_id": .queue, "name": .text, "sequence": .sequence, "missed": .integer, "note": .text,
                "moved_at": .integer,
            ]),
        CopiedTable(
            "schedule", order: "id",
            [
                "name": .text, "queue_id": .queue, "spec": .text, "zone": .text, "payload": .bytes, "headers": .text,
                "priority": .integer, "attempts_max": .integer, "unique_key": .text, "on_conflict": .text,
                "missed": .text, "missed_window": .integer, "jitter": .integer, "starts_at": .integer,
                "ends_at": .integer, "paused": .integer, "anchor": .integer, "next_due": .integer,
                "reckoned_from": .integer, "revision": .integer, "zone_data": .integer, "fired_total": .integer,
                "missed_total": .integer, "problem": .text, "group_key": .text, "key_scope": .integer,
                "expires_after": .integer,
            ]),
        CopiedTable(
            "firing", order: "found.schedule_id, found.due",
            from: "penstock_firing AS found JOIN penstock_schedule AS schedule ON schedule.id = found.schedule_id",
            insertion: Query(
                """
                INSERT INTO penstock_firing (schedule_id, due, fired_at, outcome, sequence)
                SELECT id, CAST(?2 AS BIGINT), CAST(?3 AS BIGINT), CAST(?4 AS TEXT), CAST(?5 AS BIGINT)
                FROM penstock_schedule WHERE name = ?1
                """),
            [
                "schedule.name": .text, "due": .integer, "fired_at": .integer, "outcome": .text, "sequence": .sequence,
            ]),
    ]

    /// What was left to be done of workflows. Any claim goes on with it, and so it comes last of all.
    static let cascade = CopiedTable(
        "cascade", order: "workflow_id, sequence",
        ["workflow_id": .sequenceOrNone, "sequence": .sequenceOrNone, "after": .sequenceOrNone])
}
