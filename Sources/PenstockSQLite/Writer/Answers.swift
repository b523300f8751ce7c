import PenstockCore
import PenstockProcesses
import PenstockSQL

/// What became of calls that a process has carried out for others, in a file: a row for each slot of ``WriterSlots``.
struct Answers: AnswerRows {
    /// The number of the first slot's row.
    private let firstRow: Int64

    /// Those to requests at `slots`; without slots there are no requests.
    init(of slots: WriterSlots?) {
        self.init(fileNumber: slots?.fileNumber.inode ?? 0)
    }

    /// Two releases may have the database open at once, and the slots of another layout are other slots. So are those in another
    /// file: where it was made anew, processes that have the old one open go on in that. The kernel says which file it is; no word in it
    /// would do, as that may be garbage.
    init(layoutVersion: Int = WriterSlots.layout.version, fileNumber: UInt64) {
        let bytes = [UInt64(layoutVersion), fileNumber].flatMap { withUnsafeBytes(of: $0) { Array($0) } }
        // The upper bit is that of the sign, and the lowest ones are the slot's: its file's rows lie side by side.
        firstRow = Int64(Checksum.fnv1a(of: bytes) >> 1) / Int64(WriterSlots.count) * Int64(WriterSlots.count)
    }

    private func row(of slot: Int) -> Int64 { firstRow + Int64(slot) }

    func write(_ answers: [RequestAnswer], _ connection: Connection) throws {
        for answer in answers {
            try answer.bytes.withUnsafeBytes { bytes in
                try connection.run(Self.insert) { row in
                    row.bind(self.row(of: answer.slot), at: 1)
                    row.bind(Int64(answer.ticket), at: 2)
                    row.bind(uncopied: bytes, at: 3)
                }
            }
        }
    }

    /// What the request `ticket` of `slot` gave; `nil` when it is not carried out, or not yet.
    func read(slot: Int, ticket: UInt64, _ connection: Connection) throws -> [UInt8]? {
        try connection.first(Self.select, .integer(row(of: slot)), .integer(Int64(ticket))) { try $0.bytes(0) }
    }

    private static let insert = Query(
        "INSERT OR REPLACE INTO penstock_answer (slot, ticket, receipts) VALUES (?1, ?2, ?3)")
    private static let select = Query("SELECT receipts FROM penstock_answer WHERE slot = ?1 AND ticket = ?2")
}
