import PenstockCore

/// What became of calls that a process has carried out for others: a row for each slot of ``WriterSlots``, written in the
/// transaction that carries them out. So each is carried out and answered, or neither, whatever dies when.
enum Answers {
    /// Writes down what the request `ticket` of `slot` gave.
    static func write(_ bytes: [UInt8], slot: Int, ticket: UInt64, _ connection: Connection) throws {
        try bytes.withUnsafeBytes { bytes in
            try connection.run(insert) { row in
                row.bind(Int64(slot), at: 1)
                row.bind(Int64(ticket), at: 2)
                row.bind(uncopied: bytes, at: 3)
            }
        }
    }

    /// What the request `ticket` of `slot` gave; `nil` when it is not carried out, or not yet.
    static func read(slot: Int, ticket: UInt64, _ connection: Connection) throws -> [UInt8]? {
        try connection.first(select, .integer(Int64(slot)), .integer(Int64(ticket))) { try $0.bytes(0) }
    }

    private static let insert = Query(
        "INSERT OR REPLACE INTO penstock_answer (slot, ticket, receipts) VALUES (?1, ?2, ?3)")
    private static let select = Query("SELECT receipts FROM penstock_answer WHERE slot = ?1 AND ticket = ?2")
}
