/// A table whose rows are copied from one store into another, column by column.
struct CopiedTable: Sendable {
    /// What a column has.
    enum Kind: Sendable {
        case integer, real, text, bytes
        /// A sequence number, which may be another one in the target.
        case sequence
        /// A sequence number, or a number below 1 that is none and stays.
        case sequenceOrNone
        /// A queue's id, which is another one in the target.
        case queue
    }

    typealias Columns = [(name: String, kind: Kind)]

    /// Without the prefix that all of them have.
    let name: String
    let columns: Columns
    /// Reads the rows: of messages whose numbers are bound as a list, or a bound number of rows after a bound number of them.
    let selection: Query
    private let insertion: Insertion

    private enum Insertion: Sendable {
        case many(BulkInsert)
        case one(Query)
    }

    /// A table with rows of messages.
    ///
    /// - Parameters:
    ///   - join: which rows, called `found`, belong to a message of the log, as SQL.
    ///   - isShared: whether a row belongs to several messages, and may be there already.
    init(_ name: String, of join: String, isShared: Bool = false, _ columns: KeyValuePairs<String, Kind>) {
        let from = "json_each(?1) AS listed CROSS JOIN penstock_log AS log ON log.sequence = listed.value \(join)"
        self.init(name, from: from, isShared: isShared, columns)
    }

    /// A table with rows of queues.
    ///
    /// - Parameter order: an order of its rows in which no two are the same, as SQL.
    init(
        _ name: String, order: String, from: String? = nil, isShared: Bool = false, insertion: Query? = nil,
        _ columns: KeyValuePairs<String, Kind>
    ) {
        self.init(
            name, from: "\(from ?? "penstock_\(name) AS found") ORDER BY \(order) LIMIT ?1 OFFSET ?2",
            isShared: isShared, insertion: insertion, columns)
    }

    private init(
        _ name: String, from: String, isShared: Bool, insertion: Query? = nil, _ columns: KeyValuePairs<String, Kind>
    ) {
        self.name = name
        self.columns = columns.map { ($0.key, $0.value) }
        let table = "penstock_\(name)"
        let names = columns.map(\.key)
        let selected = names.map { $0.contains(".") ? $0 : "found.\($0)" }.joined(separator: ", ")
        selection = Query("SELECT \(isShared ? "DISTINCT " : "")\(selected) FROM \(from)")
        if let insertion {
            self.insertion = .one(insertion)
        } else if isShared {
            let values = names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
            self.insertion = .one(
                Query("INSERT OR IGNORE INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(values))"))
        } else {
            self.insertion = .many(BulkInsert(into: table, names))
        }
    }

    // MARK: Rows

    func row(_ row: PreparedStatement) throws -> [CopiedValue] { try Self.row(row, of: columns) }

    static func row(_ row: PreparedStatement, of columns: Columns) throws -> [CopiedValue] {
        try columns.indices.map { index in
            if row.isNull(index) { return .null }
            switch columns[index].kind {
            case .integer, .sequence, .sequenceOrNone, .queue: return .integer(row.integer(index))
            case .real: return .real(row.real(index))
            case .text: return row.text(index).map { .text($0) } ?? .null
            case .bytes: return .bytes(try row.bytes(index))
            }
        }
    }

    /// Writes rows of the source, as they are in the target. One of a queue that is not copied is left out: it contradicts the rest.
    func write(_ rows: [[CopiedValue]], _ place: CopyPlace, _ connection: Connection) throws {
        let rows = rows.compactMap { moved($0, place) }
        switch insertion {
        case .many(let insert):
            try insert.run(rows, connection) { statement, row, index in Self.bind(row, to: statement, at: index) }
        case .one(let query):
            for row in rows { try connection.run(query) { Self.bind(row, to: $0, at: 1) } }
        }
    }

    private func moved(_ row: [CopiedValue], _ place: CopyPlace) -> [CopiedValue]? {
        var row = row
        for (index, column) in columns.enumerated() {
            guard case .integer(let value) = row[index] else { continue }
            switch column.kind {
            case .sequence: row[index] = .integer(place.sequence(value))
            case .sequenceOrNone where value > 0: row[index] = .integer(place.sequence(value))
            case .queue:
                guard let id = place.queues[value] else { return nil }
                row[index] = .integer(id)
            case .integer, .real, .text, .bytes, .sequenceOrNone: break
            }
        }
        return row
    }

    static func bind(_ row: some Sequence<CopiedValue>, to statement: PreparedStatement, at index: Int) {
        for (offset, value) in row.enumerated() {
            switch value {
            case .integer(let integer): statement.bind(integer, at: index + offset)
            case .real(let real): statement.bind(real, at: index + offset)
            case .text(let text): statement.bind(text, at: index + offset)
            case .bytes(let bytes): statement.bind(bytes, at: index + offset)
            // Nothing is bound to begin with, and that is NULL.
            case .null: break
            }
        }
    }
}

/// A value on its way from one store into another.
enum CopiedValue: Sendable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
    case null
}

/// Where the rows of a source are in the target.
struct CopyPlace: Sendable {
    /// By how much sequence numbers are higher.
    var sequenceOffset: Int64
    /// The ids of the queues, by those in the source.
    var queues: [Int64: Int64]

    /// The number that a message of the source has in the target. One that is too large for that is no message's, as a producer may name
    /// anything as an origin, and stays as it is.
    func sequence(_ source: Int64) -> Int64 {
        let (sequence, isTooLarge) = source.addingReportingOverflow(sequenceOffset)
        return isTooLarge ? source : sequence
    }
}
