import CPenstockPostgres
import PenstockCore

/// Statements of an application's own, with values that are bound. They are prepared for one run.
extension ServerConnection {
    /// Runs one statement. Its answer is in texts.
    func run(_ sql: String, binding values: [PostgresValue]) throws -> ServerResult {
        try endPipeline()
        // Of a text the server finds out the type; bytes go as they are.
        let types = values.map { value -> Oid in if case .bytes = value { BinaryForm.bytes } else { 0 } }
        let formats = values.map { value -> Int32 in if case .bytes = value { 1 } else { 0 } }
        let forms = try values.map { try $0.sent() }
        let isSent = Self.withPointers(to: forms) { pointers, lengths in
            PQsendQueryParams(connection, sql, Int32(values.count), types, pointers, lengths, formats, 0)
        }
        return try answer(isSent)
    }

    /// Whether a statement has failed, so that the transaction can do nothing more.
    var hasFailed: Bool { PQtransactionStatus(connection) == PQTRANS_INERROR }
}

extension ServerResult {
    var rows: [PostgresRow] {
        let columns = columnNames
        return (0..<rowCount).map { row in
            PostgresRow(
                columns: columns,
                texts: columns.indices.map { isNull(row, $0) ? nil : text(row, $0) })
        }
    }
}

extension PostgresValue {
    /// What goes to the server; `nil`: NULL.
    fileprivate func sent() throws -> [UInt8]? {
        switch self {
        case .null: return nil
        case .bool(let value): return Array((value ? "t" : "f").utf8)
        case .integer(let value): return Array(String(value).utf8)
        case .real(let value): return Array(Self.text(of: value).utf8)
        case .bytes(let bytes): return bytes
        case .text(let text):
            let bytes = Array(text.utf8)
            try require(
                !bytes.contains(0),
                "A text that is bound has a zero byte, which PostgreSQL's texts cannot have; bind it as bytes.")
            return bytes
        }
    }

    private static func text(of value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        return "\(value)"
    }
}
