package import PenstockCore

/// Whether every task is a message, and whatever waits has something to wait for.
package enum WorkflowInspection {
    package static func inspect(_ connection: Connection, _ report: inout HealthReport) throws {
        try report.find(
            strayTasksSQL, .misplaced, "{is a task|are tasks}, and the log or the workflow is not there", connection)
        try report.find(
            disagreeingSQL, .misplaced,
            "{waits|wait} for what has ended, or {does|do} not wait for what has not, and nobody is told", connection)
        try report.find(
            wrongMarksSQL, .misplaced,
            "{is|are} in line with marks that say wrongly whether {it is a task|they are tasks}", connection)
        try report.find(forgottenSQL, .misplaced, "{waits|wait} for nothing, and for ever", connection)
    }

    /// Tasks without a message, or without a workflow.
    package static let strayTasksSQL = """
        SELECT task.sequence FROM penstock_task AS task
        WHERE NOT EXISTS (SELECT 1 FROM penstock_log AS log WHERE log.sequence = task.sequence)
            OR NOT EXISTS (SELECT 1 FROM penstock_workflow AS workflow WHERE workflow.id = task.workflow_id)
        """

    /// Which marks a row is checked for in which table, and which table they stand for.
    package static let marks: [(mark: Marks, line: QuarantineSource, source: String)] =
        QuarantineSource.line.map { (.task, $0, "task") } + [
            (.awaitsEvent, .scheduled, "awaited"), (.cancelRequested, .lease, "cancel"),
            (.hasProgress, .lease, "progress"),
        ]

    /// What chooses the rows `line` of a table that have a mark and must not, or the other way round.
    package static func isWrong(_ mark: Marks, _ source: String) -> String {
        "(marks & \(mark.rawValue) <> 0) <> (line.sequence IN (SELECT sequence FROM penstock_\(source)))"
    }

    private static let wrongMarksSQL = marks.map { mark, line, source in
        "SELECT sequence FROM \(line.table) AS line WHERE \(isWrong(mark, source))"
    }.joined(separator: " UNION ")

    /// How the row `dependency` must be, as `Dependency.standing` says, as SQL.
    private static let standing = """
        CASE coalesce(
            (SELECT outcome.state FROM penstock_log AS log JOIN penstock_outcome AS outcome
                ON outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence
                WHERE log.sequence = dependency.parent),
            (SELECT 'open' FROM penstock_log AS log WHERE log.sequence = dependency.parent), 'gone')
            WHEN 'open' THEN 'open'
            -- Its queue was deleted, and what had been decided before stays.
            WHEN 'gone' THEN CASE WHEN dependency.state <> 'open' THEN dependency.state
                WHEN need = 'ended' THEN 'met' ELSE 'failed' END
            WHEN 'done' THEN 'met'
            ELSE CASE WHEN need = 'ended' THEN 'met'
                WHEN when_dead = 'hold' AND EXISTS (
                    SELECT 1 FROM penstock_log AS log JOIN penstock_outcome AS outcome
                        ON outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence
                    WHERE log.sequence = dependency.parent AND outcome.state = 'dead') THEN 'open'
                ELSE 'failed' END
        END
        """

    /// Whether the child of the row `dependency` waits, or was cancelled as it waited in vain, as SQL.
    private static let isWaiting = """
        EXISTS (SELECT 1 FROM penstock_log AS log JOIN penstock_pending AS line
            ON line.queue_id = log.queue_id AND line.sequence = log.sequence WHERE log.sequence = dependency.child)
        OR EXISTS (SELECT 1 FROM penstock_log AS log JOIN penstock_outcome AS line
            ON line.queue_id = log.queue_id AND line.sequence = log.sequence
            WHERE log.sequence = dependency.child AND line.state = 'cancelled' AND line.reason = 'parentFailed')
        """

    private static let isUntold = """
        NOT EXISTS (SELECT 1 FROM penstock_cascade AS cascade
            WHERE cascade.workflow_id = 0 AND cascade.sequence = dependency.parent)
        """

    /// Dependencies that do not agree with what they are on, while nobody is about to see to them. What is left to be told
    /// in a queue that is copied here comes with the last of it.
    package static let disagreeing = """
        FROM penstock_dependency AS dependency
        WHERE dependency.state <> \(standing) AND (\(isWaiting)) AND \(isUntold)
            AND NOT EXISTS (SELECT 1 FROM penstock_log AS log
                WHERE log.sequence = dependency.child AND log.queue_id IN (\(MoveInspection.arriving)))
        """

    private static let disagreeingSQL = "SELECT DISTINCT child AS sequence \(disagreeing)"

    /// Whether the row `line` of penstock_pending waits for nothing that anybody is about to see to, as SQL.
    package static let isForgotten = """
        NOT EXISTS (SELECT 1 FROM penstock_dependency AS dependency WHERE dependency.child = line.sequence
            AND (dependency.state = 'open' OR NOT \(isUntold)))
            AND line.queue_id NOT IN (\(MoveInspection.arriving))
        """

    private static let forgottenSQL = "SELECT sequence FROM penstock_pending AS line WHERE \(isForgotten)"
}
