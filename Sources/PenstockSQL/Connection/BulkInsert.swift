/// An INSERT of rows by the chunk: beginning and ending a statement costs as much as writing a row. Made for `static let`
/// constants only, as a ``Query``.
struct BulkInsert: Sendable {
    /// How many rows one statement writes.
    static let chunkCount = 16

    private let columnCount: Int
    private let one: Query
    private let chunk: Query

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
        (one, chunk) = (insert(1), insert(Self.chunkCount))
    }

    /// Writes a row for each of `rows`.
    ///
    /// - Parameter bind: binds the columns of one row, the first of them at the index that it is given.
    func run<Row>(_ rows: [Row], _ connection: Connection, bind: (PreparedStatement, Row, Int) -> Void) throws {
        var rest = rows[...]
        while !rest.isEmpty {
            let count = rest.count < Self.chunkCount ? 1 : Self.chunkCount
            try connection.run(count == 1 ? one : chunk) { statement in
                for (index, row) in rest.prefix(count).enumerated() { bind(statement, row, 1 + index * columnCount) }
            }
            rest = rest.dropFirst(count)
        }
    }
}
