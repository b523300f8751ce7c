package import PenstockCore

/// Whether the store is still the one that takes and gives the messages, and whether all has come of what is copied here.
package enum MoveInspection {
    package static func inspect(_ connection: Connection, _ report: inout HealthReport) throws {
        if let move = try Departure.read(connection) {
            report.add(.storeMoved, .warning, "\(move.statement); \(move.advice).")
        }
        let unfinished = try connection.all(selectUnfinished) {
            (source: $0.text(0) ?? "", place: $0.integer(1), queues: Int($0.integer(2)))
        }
        for (source, place, queues) in unfinished {
            // A path may have any text, and so is no part of a template.
            let which = CountedText.sentence("COUNT {queue|queues}", queues)
            let rest = CountedText.sentence("{takes and gives|take and give} nothing", queues)
            let end = "with `\(StoreCopy.cancellation(of: source))` and `--to` this store."
            report.add(
                .copyUnfinished, .warning,
                place < 0
                    ? "\(which) of a copy from \(source) that was broken off \(rest); remove what has come \(end)"
                    : "\(which) of a copy from \(source) \(rest) before all of it is there; if no program is at it, run the same "
                        + "`penstock copy` again, or give it up \(end)")
        }
    }

    /// The queues of which not all is here, as SQL. What contradicts the rest of their rows is yet to come, and only the copy changes them.
    package static let arriving = "SELECT queue_id FROM penstock_arriving"

    /// By the place a move that is broken off is told from one that goes on.
    private static let selectUnfinished = Query(
        """
        SELECT coalesce(arrival.source, 'another store') AS source, coalesce(arrival.place, -1) AS place, count(*)
        FROM penstock_arriving AS arriving LEFT JOIN penstock_arrival AS arrival ON arrival.move_id = arriving.move_id
        GROUP BY arriving.move_id, arrival.source, arrival.place ORDER BY 1
        """)
}
