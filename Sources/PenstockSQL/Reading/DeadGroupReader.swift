import PenstockCore

/// Puts dead letters into groups by their errors.
enum DeadGroupReader {
    /// How many are read by one statement: a server's answer is a way there and back, and has all their errors.
    private static let runMax = 64

    static func groups(_ query: DeadGroupQuery, _ connection: Connection) throws -> DeadGroupPage {
        var walk = try SequenceWalk(query.messages, QueueReader.ids(query.queue, connection), connection)
        var grouping = DeadGrouping()
        var looked = 0
        var last: SequenceNumber?
        while looked < query.lookMax {
            var run: [Int64] = []
            while run.count < min(runMax, query.lookMax - looked), let next = try walk.next() { run.append(next) }
            if run.isEmpty { return grouping.page(next: nil) }
            looked += run.count
            let dead = try read(run, connection)
            // One that the log does not have is for the doctor.
            for sequence in run {
                guard let letter = dead[sequence] else { continue }
                let number = SequenceNumber(sequence)
                guard grouping.admits(number, letter.queue, letter.signature, diedAt: letter.diedAt) else {
                    return grouping.page(next: last)
                }
                last = number
            }
        }
        return grouping.page(next: try walk.next() == nil ? nil : last)
    }

    private struct DeadLetter {
        var queue: QueueName
        var signature: ErrorSignature
        var diedAt: Timestamp
    }

    private static func read(_ run: [Int64], _ connection: Connection) throws -> [Int64: DeadLetter] {
        let rows = try connection.all(selectDead, .sequences(run)) { row in
            let letter = DeadLetter(
                queue: QueueName(stored: row.text(1) ?? ""),
                signature: try LastError.signature(of: row, reason: 2, error: 4),
                diedAt: Timestamp(microseconds: row.integer(3)))
            return (row.integer(0), letter)
        }
        return Dictionary(rows) { first, _ in first }
    }

    private static let selectDead = Query(
        """
        SELECT log.sequence, queue.name, outcome.reason, outcome.finished_at, \(LastError.sql)
        FROM json_each(?1) AS listed CROSS JOIN penstock_log AS log ON log.sequence = listed.value
        CROSS JOIN penstock_queue AS queue ON queue.id = log.queue_id
        CROSS JOIN penstock_outcome AS outcome ON outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence
        """)
}
