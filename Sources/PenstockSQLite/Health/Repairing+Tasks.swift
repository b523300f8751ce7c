import GRDB
import PenstockCore
import PenstockSQL

/// Workflows and their tasks.
extension Repairing {
    /// Makes tasks and dependencies agree with the messages again. What follows for those that wait is left to any claim, as after
    /// a crash: see `Cascade`.
    mutating func repairTasks() throws {
        try change(
            .misplaced, "COUNT {workflow|workflows} that only tasks knew of {is|are} there again, by the number.",
            """
            INSERT OR IGNORE INTO penstock_workflow (id, name, started_at)
            SELECT DISTINCT workflow_id, 'workflow-' || workflow_id, \(now.microseconds) FROM penstock_task
            WHERE workflow_id NOT IN (SELECT id FROM penstock_workflow)
            """)
        let stray = "SELECT sequence FROM (\(WorkflowInspection.strayTasksSQL))"
        try database.execute(sql: Self.tell(stray))
        try change(
            .misplaced, "COUNT {row|rows} of penstock_task without a message or a workflow {was|were} removed.",
            "DELETE FROM penstock_task WHERE sequence IN (\(stray))")
        try database.execute(
            sql: """
                DELETE FROM penstock_result WHERE sequence NOT IN (SELECT sequence FROM penstock_log);
                DELETE FROM penstock_step WHERE sequence NOT IN (SELECT sequence FROM penstock_log);
                DELETE FROM penstock_event WHERE sequence <> 0 AND sequence NOT IN (SELECT sequence FROM penstock_log);
                DELETE FROM penstock_workflow WHERE id NOT IN (SELECT workflow_id FROM penstock_task);
                DELETE FROM penstock_awaited WHERE sequence NOT IN (SELECT sequence FROM penstock_scheduled);
                DELETE FROM penstock_progress WHERE sequence NOT IN (SELECT sequence FROM penstock_lease);
                """)
        // Nobody is told of the end of a message that is no task. Of one that is not there it was said what follows.
        try change(
            .misplaced, "COUNT {dependency|dependencies} of or on what is no task {was|were} removed.",
            """
            DELETE FROM penstock_dependency WHERE child NOT IN (SELECT sequence FROM penstock_task)
                OR parent NOT IN (SELECT sequence FROM penstock_task)
                    AND parent IN (SELECT sequence FROM penstock_log)
            """)
        try change(
            .misplaced, "COUNT {request|requests} to a worker that has not the message {was|were} removed.",
            """
            DELETE FROM penstock_cancel AS request WHERE NOT EXISTS (SELECT 1 FROM penstock_lease AS lease
                WHERE lease.sequence = request.sequence AND lease.token = request.token)
            """)
        try repairMarks()
        try tellDisagreeing()
        try repairForgotten()
    }

    private mutating func repairMarks() throws {
        for (mark, line, source) in WorkflowInspection.marks {
            try change(
                .misplaced, "COUNT {row|rows} of \(line.table) got {its|their} marks anew.",
                """
                UPDATE \(line.table) AS line SET marks = (marks & ~\(mark.rawValue))
                    | (\(mark.rawValue) * (line.sequence IN (SELECT sequence FROM penstock_\(source))))
                WHERE \(WorkflowInspection.isWrong(mark, source))
                """)
        }
    }

    /// What waits for nothing is told once more of what it has waited for; without any of that it goes into the line. That tasks
    /// which are gone were done is known from the dependency alone, and stays.
    private mutating func repairForgotten() throws {
        let isTold = "(state = 'failed' OR parent IN (SELECT sequence FROM penstock_log))"
        let forgotten = "SELECT sequence FROM penstock_pending AS line WHERE \(WorkflowInspection.isForgotten)"
        let isAlone = """
            sequence IN (\(forgotten)) AND sequence NOT IN (SELECT child FROM penstock_dependency WHERE \(isTold))
            """
        try change(
            .misplaced,
            "COUNT {message that waited|messages that waited} for nothing {waits|wait} until {it is|they are} due.",
            """
            INSERT INTO penstock_scheduled (sequence, queue_id, due_at, priority, attempt, forgiven, marks)
            SELECT sequence, queue_id, \(due), priority, attempt, forgiven, marks FROM penstock_pending AS line
            WHERE \(isAlone) AND \(due) > \(now.microseconds)
            """)
        try database.execute(
            sql: "DELETE FROM penstock_pending WHERE sequence IN (SELECT sequence FROM penstock_scheduled)")
        try change(
            .misplaced, "COUNT {message that waited|messages that waited} for nothing {is|are} ready.",
            """
            INSERT OR IGNORE INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks, ready_since)
            SELECT queue_id, priority,
                coalesce((SELECT turn FROM penstock_log AS log WHERE log.sequence = line.sequence), 0), sequence, attempt, forgiven, marks,
                (SELECT now FROM penstock_now)
            FROM penstock_pending AS line WHERE \(isAlone)
            """)
        try database.execute(
            sql: """
                DELETE FROM penstock_pending AS line WHERE \(Self.isReady);
                UPDATE penstock_dependency SET state = 'open' WHERE child IN (\(forgotten)) AND \(isTold);
                """)
        try tellDisagreeing()
    }

    /// Has those tasks told again with which a dependency on them does not agree.
    private mutating func tellDisagreeing() throws {
        try change(
            .misplaced, "COUNT {task is|tasks are} told again to those that wait for {it|them}.",
            Self.tell("SELECT DISTINCT parent \(WorkflowInspection.disagreeing)"))
    }

    /// When the row `line` of penstock_pending is due if it waits for nothing from now on, as `TaskRows` says, as SQL.
    private var due: String {
        let delay = "max(0, min(delay, \(Limits.delayMax.wholeMicroseconds)))"
        let moment = "max(0, min(due_at, \(StoredRange.times.upperBound)))"
        return """
            coalesce((SELECT max(coalesce(\(moment), 0), coalesce(\(now.microseconds) + \(delay), 0))
                FROM penstock_task AS task WHERE task.sequence = line.sequence), 0)
            """
    }

    /// What has the end or the return of the tasks told that `sequences` gives.
    private static func tell(_ sequences: String) -> String {
        "INSERT OR REPLACE INTO penstock_cascade (workflow_id, sequence, after) SELECT 0, told.*, 0 FROM (\(sequences)) AS told"
    }
}
