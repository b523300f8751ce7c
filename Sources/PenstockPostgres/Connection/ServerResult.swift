import CPenstockPostgres

/// The rows that a statement gave, in the server's binary form.
final class ServerResult {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    var rowCount: Int32 { PQntuples(result) }
    var columnNames: [String] {
        (0..<PQnfields(result)).map { PQfname(result, $0).map { String(cString: $0) } ?? "" }
    }
    /// What the server calls the statement, such as `DEALLOCATE ALL`.
    var command: String { String(cString: PQcmdStatus(result)) }
    /// How many rows the statement changed.
    var changesCount: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    func isNull(_ row: Int32, _ column: Int) -> Bool { PQgetisnull(result, row, Int32(column)) != 0 }
    func type(_ column: Int) -> Oid { PQftype(result, Int32(column)) }

    /// What a column has, where the server gives texts: as answer to a statement without parameters.
    func text(_ row: Int32, _ column: Int) -> String {
        String(decoding: bytes(row, column), as: UTF8.self)
    }

    func bytes(_ row: Int32, _ column: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, Int32(column)), count: Int(PQgetlength(result, row, Int32(column))))
    }
}
