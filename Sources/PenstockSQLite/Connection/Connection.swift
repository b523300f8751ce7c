import GRDB
import GRDBSQLite
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

/// A prepared statement, bound and stepped through SQLite's C functions.
final class PreparedStatement {
    // Held so that the pointer stays valid; GRDB finalises it with the object.
    private let statement: Statement
    private let pointer: OpaquePointer
    /// The first binding that failed since the last reset: for want of memory, most likely. Nothing is run then.
    private var bindingFailure = SQLITE_OK

    init(_ statement: Statement) {
        self.statement = statement
        pointer = statement.sqliteStatement
        sqlite3_clear_bindings(pointer)
    }

    func bind(_ value: Value, at index: Int) {
        switch value {
        case .integer(let integer): bind(integer, at: index)
        case .real(let real): note(sqlite3_bind_double(pointer, Int32(index), real))
        case .text(let text): bind(text, at: index)
        // Nothing is bound to begin with, and that is NULL.
        case .null: break
        }
    }

    @inline(__always)
    private func note(_ result: Int32) {
        if result != SQLITE_OK, bindingFailure == SQLITE_OK { bindingFailure = result }
    }

    func bind(_ value: Int64, at index: Int) {
        note(sqlite3_bind_int64(pointer, Int32(index), value))
    }

    func bind(_ text: String, at index: Int) {
        var text = text
        text.withUTF8 { bytes in
            if let start = bytes.baseAddress {
                start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { start in
                    note(sqlite3_bind_text(pointer, Int32(index), start, Int32(bytes.count), Self.copied))
                }
            } else {
                // No pointer would bind NULL, and an empty text is none.
                note(sqlite3_bind_text(pointer, Int32(index), "", 0, Self.copied))
            }
        }
    }

    /// Binds `bytes` without a copy; they must outlive the next step.
    func bind(uncopied bytes: UnsafeRawBufferPointer, at index: Int) {
        if let start = bytes.baseAddress, bytes.count > 0 {
            note(sqlite3_bind_blob(pointer, Int32(index), start, Int32(bytes.count), nil))
        } else {
            note(sqlite3_bind_zeroblob(pointer, Int32(index), 0))
        }
    }

    /// Goes to the next row; false at the end.
    func step() throws -> Bool {
        guard bindingFailure == SQLITE_OK else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: bindingFailure), message: "a value could not be bound",
                sql: statement.sql)
        }
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let connection = sqlite3_db_handle(pointer)
            throw DatabaseError(
                resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
                message: String(cString: sqlite3_errmsg(connection)), sql: statement.sql)
        }
    }

    /// Runs the statement through GRDB rather than by ``step()``.
    func execute() throws {
        try statement.execute()
    }

    /// Makes the statement ready to be run again, with other values: binding NULL to most columns of a row, each by a call, would cost
    /// more than letting go of all values at once.
    func reset() {
        sqlite3_reset(pointer)
        sqlite3_clear_bindings(pointer)
        bindingFailure = SQLITE_OK
    }

    func integer(_ column: Int) -> Int64 {
        sqlite3_column_int64(pointer, Int32(column))
    }

    func optionalInteger(_ column: Int) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    func real(_ column: Int) -> Double {
        sqlite3_column_double(pointer, Int32(column))
    }

    func text(_ column: Int) -> String? {
        guard let start = sqlite3_column_text(pointer, Int32(column)) else { return nil }
        let count = Int(sqlite3_column_bytes(pointer, Int32(column)))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Whether a column has a text of these bytes. NULL has none.
    func text(_ column: Int, isWrittenAs bytes: [UInt8]) -> Bool {
        guard let start = sqlite3_column_text(pointer, Int32(column)) else { return false }
        let count = Int(sqlite3_column_bytes(pointer, Int32(column)))
        return UnsafeBufferPointer(start: start, count: count).elementsEqual(bytes)
    }

    /// The bytes of a column; none when it is NULL.
    ///
    /// - Throws: when there is no memory to read them. SQLite answers as for an empty value then, and an empty payload
    ///   would be worked.
    func bytes(_ column: Int) throws -> [UInt8] {
        guard let start = sqlite3_column_blob(pointer, Int32(column)) else {
            let connection = sqlite3_db_handle(pointer)
            guard sqlite3_errcode(connection) != SQLITE_NOMEM else {
                throw DatabaseError(resultCode: .SQLITE_NOMEM, sql: statement.sql)
            }
            return []
        }
        let count = Int(sqlite3_column_bytes(pointer, Int32(column)))
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    func isNull(_ column: Int) -> Bool {
        sqlite3_column_type(pointer, Int32(column)) == SQLITE_NULL
    }

    // SQLITE_TRANSIENT, a macro that Swift does not see: SQLite copies the text before the call returns.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
