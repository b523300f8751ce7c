import PenstockCore
import PenstockProcesses
import PenstockSQL

/// What became of calls that a process has carried out for others, in a file: a row for each slot of ``WriterSlots``.
struct Answers: AnswerRows {
    /// The row of a slot. Two releases may have the file open at once, and the slots of another layout are other slots.
    private static func row(of slot: Int) -> Int64 { Int64(WriterSlots.layout.version) << 32 | Int64(slot) }

    /// Writes down what requests gave.
    func write(_ answers: [RequestAnswer], _ connection: Connection) throws {
        for answer in answers {
            try answer.bytes.withUnsafeBytes { bytes in
                try connection.run(Self.insert) { row in
                    row.bind(Self.row(of: answer.slot), at: 1)
                    row.bind(Int64(answer.ticket), at: 2)
                    row.bind(uncopied: bytes, at: 3)
                }
            }
        }
    }

    /// What the request `ticket` of `slot` gave; `nil` when it is not carried out, or not yet.
    func read(slot: Int, ticket: UInt64, _ connection: Connection) throws -> [UInt8]? {
        try connection.first(Self.select, .integer(Self.row(of: slot)), .integer(Int64(ticket))) { try $0.bytes(0) }
    }

    private static let insert = Query(
        "INSERT OR REPLACE INTO penstock_answer (slot, ticket, receipts) VALUES (?1, ?2, ?3)")
    private static let select = Query("SELECT receipts FROM penstock_answer WHERE slot = ?1 AND ticket = ?2")
}
