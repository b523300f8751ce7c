package import PenstockCore

/// Whether every cursor is in the log of a queue that exists.
package enum CursorInspection {
    package static func inspect(_ connection: Connection, _ report: inout HealthReport) throws {
        let strayed = try connection.all(Self.strayed) {
            (name: $0.text(0) ?? "", queue: $0.text(1), sequence: $0.integer(2))
        }
        for (name, queue, sequence) in strayed {
            let what =
                queue == nil
                ? "belongs to a queue that does not exist\(report.repair("sets it aside"))"
                : "stands at \(sequence), which no log has come to\(report.repair("puts it at the end"))"
            report.add(.strayCursor, .error, "The cursor '\(name)' \(what).", queue: queue)
        }
    }

    /// At most as many as one queue may have: each is a finding of its own.
    private static let strayed = Query(
        """
        SELECT cursor.name AS cursor, queue.name AS queue, cursor.sequence FROM penstock_cursor AS cursor
        LEFT JOIN penstock_queue AS queue ON queue.id = cursor.queue_id
        WHERE queue.id IS NULL OR cursor.sequence > (SELECT last_sequence FROM penstock_state)
        ORDER BY queue.name, cursor.name LIMIT \(Limits.cursorCountMax)
        """)
}
