import PenstockCore
import PenstockProcesses
import PenstockSQL

/// What became of calls that a process has carried out for others of its machine: rows of `penstock_writer`, so that each is a mark as
/// well by which its caller finds out whether the transaction is on the disk (``CommitMark``).
struct HostAnswers: AnswerRows {
    /// The number of the memory in which the slots lie.
    let number: UInt64

    /// So many tickets of a slot have one row: a transaction that somebody has left open keeps all versions of it.
    private static let ticketBits = 8

    /// The mark of the transaction that has carried out a request.
    func mark(slot: Int, ticket: UInt64) -> CommitMark {
        CommitMark(writer: row(slot, ticket >> Self.ticketBits), number: Int64(ticket))
    }

    private func row(_ slot: Int, _ era: UInt64) -> Int64 {
        // FNV-1a spreads the three numbers; the upper bit is that of the sign.
        let bytes = [number, UInt64(slot), era].flatMap { withUnsafeBytes(of: $0) { Array($0) } }
        return Int64(WriterSlots.checksum(of: bytes, ticket: 0) >> 1)
    }

    /// Nothing is read before: ``write(_:_:)`` ends the transaction if the request was carried out in an earlier one.
    func read(slot: Int, ticket: UInt64, _ connection: Connection) throws -> [UInt8]? { nil }

    func write(_ answers: [RequestAnswer], _ connection: Connection) throws {
        var rest = answers[...]
        while !rest.isEmpty {
            let size = Self.chunkCounts.firstIndex { $0 <= rest.count } ?? 0
            let chunk = rest.prefix(Self.chunkCounts[size])
            try connection.run(Self.inserts[size]) { row in
                for (index, answer) in chunk.enumerated() {
                    let mark = mark(slot: answer.slot, ticket: answer.ticket)
                    row.bind(mark.writer, at: 3 * index + 1)
                    row.bind(mark.number, at: 3 * index + 2)
                    row.bind(answer.bytes, at: 3 * index + 3)
                }
            }
            rest = rest.dropFirst(chunk.count)
        }
        for answer in answers {
            // The row of the era before may be a mark that its caller still waits for.
            let era = answer.ticket >> Self.ticketBits
            guard era << Self.ticketBits + 4 > answer.ticket else { continue }
            try CommitMark.remove(row(answer.slot, era &- 2), connection)
        }
    }

    /// What a request gave, as the database has it.
    func find(slot: Int, ticket: UInt64, _ connection: Connection) throws -> [UInt8]? {
        let mark = mark(slot: slot, ticket: ticket)
        return try connection.first(Self.select, .integer(mark.writer), .integer(mark.number)) { try $0.bytes(0) }
    }

    // A request that was carried out already makes the number NULL, which the table refuses.
    private static let inserts = chunkCounts.map { count in
        let rows = (0..<count).map { "(?\(3 * $0 + 1), ?\(3 * $0 + 2), penstock_now(), ?\(3 * $0 + 3))" }
        return Query(
            """
            INSERT INTO penstock_writer AS writer (id, batch, written_at, receipts) VALUES \(rows.joined(separator: ", "))
            ON CONFLICT (id) DO UPDATE SET batch = CASE WHEN writer.batch < excluded.batch THEN excluded.batch END,
                written_at = excluded.written_at, receipts = excluded.receipts
            """)
    }
    /// How many rows one statement writes.
    private static let chunkCounts = [4, 1]
    private static let select = Query("SELECT receipts FROM penstock_writer WHERE id = ?1 AND batch = ?2")
}
