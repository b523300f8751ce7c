package import PenstockCore

/// Puts dead letters into groups by their errors.
package enum DeadGroupReader {
    /// Answers one query.
    package static func groups(_ query: DeadGroupQuery, _ connection: Connection) throws -> DeadGroupPage {
        var walk = try SequenceWalk(query.messages, QueueReader.ids(query.queue, connection), connection)
        let statement = try connection.statement(selectDead)
        var grouping = DeadGrouping()
        var looked = 0
        var last: Int64?
        while let sequence = try walk.next() {
            if looked == query.lookMax { return grouping.page(next: last.map { SequenceNumber($0) }) }
            looked += 1
            defer { statement.reset() }
            statement.bind(sequence, at: 1)
            // One that the log does not have is for the doctor.
            guard try statement.step() else { continue }
            let isTaken = grouping.admits(
                SequenceNumber(sequence), QueueName(stored: statement.text(0) ?? ""),
                try LastError.signature(of: statement, reason: 1, error: 3),
                diedAt: Timestamp(microseconds: statement.integer(2)))
            guard isTaken else { return grouping.page(next: last.map { SequenceNumber($0) }) }
            last = sequence
        }
        return grouping.page(next: nil)
    }

    private static let selectDead = Query(
        """
        SELECT queue.name, outcome.reason, outcome.finished_at, \(LastError.sql)
        FROM penstock_log AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id
        JOIN penstock_outcome AS outcome ON outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence
        WHERE log.sequence = ?1
        """)
}
