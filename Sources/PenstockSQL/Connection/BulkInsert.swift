/// How many rows one statement writes: beginning and ending a statement costs as much as writing a row.
package enum InsertChunks {
    /// The most rows first. There is a statement for each.
    package static let counts = [16, 4, 1]

    /// Calls `body` with all of `rows`, one chunk after the other.
    ///
    /// - Parameter body: is told which of ``counts`` the chunk has.
    package static func forEach<Row>(
        of rows: [Row], _ body: (_ size: Int, _ chunk: ArraySlice<Row>) throws -> Void
    ) rethrows {
        var rest = rows[...]
        while let size = counts.firstIndex(where: { $0 <= rest.count }) {
            try body(size, rest.prefix(counts[size]))
            rest = rest.dropFirst(counts[size])
        }
    }
}

/// An INSERT of rows by the chunk. Made for `static let` constants only, as a ``Query``.
struct BulkInsert: Sendable {
    private let columnCount: Int
    /// One for each of ``InsertChunks/counts``.
    private let queries: [Query]

    /// - Parameters:
    ///   - columns: those whose values are bound.
    ///   - texts: further columns, each with the text that all rows have in it: binding one costs a copy.
    ///   - replacing: whether a row that is in the way goes.
    init(into table: String, _ columns: [String], texts: KeyValuePairs<String, String> = [:], replacing: Bool = false) {
        columnCount = columns.count
        func insert(_ count: Int) -> Query {
            let row = (columns.map { _ in "?" } + texts.map { "'\($0.value)'" }).joined(separator: ", ")
            let names = (columns + texts.map(\.key)).joined(separator: ", ")
            return Query(
                "INSERT \(replacing ? "OR REPLACE " : "")INTO \(table) (\(names)) VALUES "
                    + repeatElement("(\(row))", count: count).joined(separator: ", "))
        }
        queries = InsertChunks.counts.map(insert)
    }

    /// Writes a row for each of `rows`.
    ///
    /// - Parameter bind: binds the columns of one row, the first of them at the index that it is given.
    func run<Row>(_ rows: [Row], _ connection: Connection, bind: (PreparedStatement, Row, Int) -> Void) throws {
        try InsertChunks.forEach(of: rows) { size, chunk in
            try connection.run(queries[size]) { statement in
                for (index, row) in chunk.enumerated() { bind(statement, row, 1 + index * columnCount) }
            }
        }
    }
}
