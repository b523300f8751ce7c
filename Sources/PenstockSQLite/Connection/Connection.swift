import GRDB
import PenstockCore
import Synchronization

/// An SQLite connection with its prepared statements. Belongs to one thread at a time, as the connection does.
///
/// Statements are stepped through SQLite's own functions: on the path of every message a binding costs tens of
/// nanoseconds there, and no value is boxed.
final class Connection {
    let database: Database
    private let isPassing: Bool
    private var prepared: [PreparedStatement?] = []

    /// Makes a connection of `database`.
    ///
    /// - Parameter isPassing: whether this object lives for one call only. The statements then stay with GRDB, which
    ///   keeps them for the next call; the writer's own must all be gone before its connection is closed.
    init(_ database: Database, isPassing: Bool = true) {
        self.database = database
        self.isPassing = isPassing
    }

    /// The prepared form of `query`, reset and with nothing bound.
    func statement(_ query: Query) throws -> PreparedStatement {
        if query.index < prepared.count, let statement = prepared[query.index] {
            return statement
        }
        let statement = PreparedStatement(
            try isPassing ? database.cachedStatement(sql: query.sql) : database.makeStatement(sql: query.sql))
        while prepared.count <= query.index { prepared.append(nil) }
        prepared[query.index] = statement
        return statement
    }

    /// How many rows the last statement changed.
    var changesCount: Int { database.changesCount }

    /// Runs a statement that begins or ends a transaction, through GRDB, so that an application's observers on the
    /// same pool hear of it.
    func execute(_ query: Query) throws {
        let statement = try statement(query)
        // GRDB resets a statement before it runs it, and takes what failed the last time for a failure of this time.
        defer { statement.reset() }
        try statement.execute()
    }

    /// Runs a statement that gives no rows.
    func run(_ query: Query, _ values: Value...) throws {
        let statement = try statement(query)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        _ = try statement.step()
    }

    /// Runs a statement that gives no rows and takes integers, on the path of every message: nothing is allocated.
    @inline(__always)
    func run(_ query: Query, bind: (PreparedStatement) -> Void) throws {
        let statement = try statement(query)
        bind(statement)
        defer { statement.reset() }
        _ = try statement.step()
    }

    /// The first row of a statement, as `read` sees it; `nil` when there is none.
    func first<T>(_ query: Query, _ values: Value..., read: (PreparedStatement) throws -> T) throws -> T? {
        let statement = try statement(query)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        return try statement.step() ? read(statement) : nil
    }

    /// Every row of a statement, as `read` sees it.
    func all<T>(_ query: Query, _ values: Value..., read: (PreparedStatement) throws -> T) throws -> [T] {
        let statement = try statement(query)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        var rows: [T] = []
        while try statement.step() { rows.append(try read(statement)) }
        return rows
    }
}

/// A value on its way into a statement.
enum Value {
    case integer(Int64)
    case real(Double)
    case text(String)
    case null

    init(_ value: Int64?) { self = value.map(Value.integer) ?? .null }
    init(_ value: String?) { self = value.map(Value.text) ?? .null }
}

extension Value: ExpressibleByIntegerLiteral {
    init(integerLiteral value: Int64) { self = .integer(value) }
}

/// One fixed SQL statement. Each connection prepares it once, on first use, and keeps it.
struct Query: Sendable {
    /// Its index in a connection's table of prepared statements.
    let index: Int
    let sql: String

    private static let count = Atomic<Int>(0)

    /// Makes a statement. Called for `static let` constants only, so the number of statements is fixed.
    init(_ sql: String) {
        index = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue
        self.sql = sql
    }
}
