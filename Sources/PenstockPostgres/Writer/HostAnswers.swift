import PenstockCore
import PenstockProcesses
import PenstockSQL

/// What became of calls that a process has carried out for others of its machine: rows of `penstock_writer`.
struct HostAnswers: AnswerRows {
    /// The number of the memory in which the slots lie.
    let number: UInt64

    /// The first of this process's rows that may be there.
    private var firstLeft: UInt64?

    init(number: UInt64) {
        self.number = number
    }

    /// So many tickets of a slot have one row: a transaction that somebody has left open keeps all versions of it.
    private static let ticketBits: UInt64 = 8

    /// Which of a slot's rows a ticket has.
    private static func era(of ticket: UInt64) -> UInt64 { ticket >> ticketBits }

    private func row(_ slot: Int, _ era: UInt64) -> Int64 {
        // FNV-1a spreads the three numbers; the upper bit is that of the sign.
        let bytes = [number, UInt64(slot), era].flatMap { withUnsafeBytes(of: $0) { Array($0) } }
        return Int64(Checksum.fnv1a(of: bytes) >> 1)
    }

    /// Nothing is read before: ``write(_:_:)`` ends the transaction if the request was carried out in an earlier one.
    func read(slot: Int, ticket: UInt64, _ connection: Connection) throws -> [UInt8]? { nil }

    func write(_ answers: [RequestAnswer], _ connection: Connection) throws {
        try InsertChunks.forEach(of: answers) { size, chunk in
            try connection.run(Self.inserts[size]) { row in
                for (index, answer) in chunk.enumerated() {
                    row.bind(self.row(answer.slot, Self.era(of: answer.ticket)), at: 3 * index + 1)
                    row.bind(Int64(answer.ticket), at: 3 * index + 2)
                    row.bind(answer.bytes, at: 3 * index + 3)
                }
            }
        }
        // Its caller has its answer, or waits for another one. What is left here the caller removes.
        for answer in answers where answer.ticket % (1 << Self.ticketBits) < 4 {
            try CommitMark.remove(row(answer.slot, Self.era(of: answer.ticket) &- 1), connection)
        }
    }

    /// Removes the rows of answers to this process that those who wrote them have left.
    ///
    /// - Parameter last: the last request of this process.
    mutating func removeLeft(before last: WriterAccess.Request, _ connection: Connection) throws {
        let era = Self.era(of: last.ticket)
        let first = firstLeft ?? era
        let end = min(era, first &+ Self.removedMax)
        for left in first..<max(first, end) { try CommitMark.remove(row(last.slot, left), connection) }
        firstLeft = end
    }

    /// How many rows one transaction removes.
    private static let removedMax: UInt64 = 16

    /// What a request gave, as the database has it.
    func find(slot: Int, ticket: UInt64, _ connection: Connection) throws -> [UInt8]? {
        try connection.first(Self.select, .integer(row(slot, Self.era(of: ticket))), .integer(Int64(ticket))) {
            try $0.bytes(0)
        }
    }

    // A request that was carried out already makes the number NULL, which the table refuses.
    private static let inserts = InsertChunks.counts.map { count in
        let rows = (0..<count).map { "(?\(3 * $0 + 1), ?\(3 * $0 + 2), penstock_now(), ?\(3 * $0 + 3))" }
        return Query(
            """
            INSERT INTO penstock_writer AS writer (id, batch, written_at, receipts) VALUES \(rows.joined(separator: ", "))
            ON CONFLICT (id) DO UPDATE SET batch = CASE WHEN writer.batch < excluded.batch THEN excluded.batch END,
                written_at = excluded.written_at, receipts = excluded.receipts
            """)
    }
    private static let select = Query("SELECT receipts FROM penstock_writer WHERE id = ?1 AND batch = ?2")
}
