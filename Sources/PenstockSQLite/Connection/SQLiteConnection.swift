internal import CPenstockSQLite
public import GRDB
import GRDBSQLite
public import PenstockSQL

/// An SQLite connection with its prepared statements. Belongs to one thread at a time, as the connection does.
///
/// Statements are stepped through SQLite's own functions: on the path of every message a binding costs tens of
/// nanoseconds there, and no value is boxed.
final class SQLiteConnection: Connection {
    let database: Database
    private let isPassing: Bool

    /// Makes a connection of `database`.
    ///
    /// - Parameter isPassing: whether this object lives for one call only. The statements then stay with GRDB, which
    ///   keeps them for the next call; the writer's own must all be gone before its connection is closed.
    init(_ database: Database, isPassing: Bool = true) {
        self.database = database
        self.isPassing = isPassing
    }

    override func prepare(_ sql: String) throws -> PreparedStatement {
        SQLiteStatement(try isPassing ? database.cachedStatement(sql: sql) : database.makeStatement(sql: sql))
    }

    override func changesCount() throws -> Int { database.changesCount }

    /// Runs a statement that begins or ends a transaction, through GRDB, so that an application's observers on the
    /// same pool hear of it.
    func execute(_ query: Query) throws {
        guard let statement = try statement(query) as? SQLiteStatement else { return }
        // GRDB resets a statement before it runs it, and takes what failed the last time for a failure of this time.
        defer { statement.reset() }
        try statement.prepared.execute()
    }

    /// Ends a transaction that has written. What it appends to the write-ahead log goes there in one call of the system.
    func commit() throws {
        penstock_begin_commit(database.sqliteConnection)
        defer { penstock_end_commit(database.sqliteConnection) }
        try execute(Self.commitQuery)
    }

    private static let commitQuery = Query("COMMIT")
}

extension DatabaseError: EngineError {
    /// Whether a constraint of a table has refused what a statement wrote.
    public var isContradiction: Bool { resultCode == .SQLITE_CONSTRAINT }
}

/// A prepared statement, bound and stepped through SQLite's C functions.
final class SQLiteStatement: PreparedStatement {
    // Held so that the pointer stays valid; GRDB finalises it with the object.
    fileprivate let prepared: Statement
    private let pointer: OpaquePointer
    /// The first binding that failed since the last reset: for want of memory, most likely. Nothing is run then.
    private var bindingFailure = SQLITE_OK

    init(_ statement: Statement) {
        prepared = statement
        pointer = statement.sqliteStatement
        sqlite3_clear_bindings(pointer)
    }

    @inline(__always)
    private func note(_ result: Int32) {
        if result != SQLITE_OK, bindingFailure == SQLITE_OK { bindingFailure = result }
    }

    override func bind(_ value: Int64, at index: Int) {
        note(sqlite3_bind_int64(pointer, Int32(index), value))
    }

    override func bind(_ value: Double, at index: Int) {
        note(sqlite3_bind_double(pointer, Int32(index), value))
    }

    override func bind(_ text: String, at index: Int) {
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

    override func bind(_ bytes: [UInt8], at index: Int) {
        note(sqlite3_bind_blob(pointer, Int32(index), bytes, Int32(bytes.count), Self.copied))
    }

    override func bind(uncopied bytes: UnsafeRawBufferPointer, at index: Int) {
        if let start = bytes.baseAddress, bytes.count > 0 {
            note(sqlite3_bind_blob(pointer, Int32(index), start, Int32(bytes.count), nil))
        } else {
            note(sqlite3_bind_zeroblob(pointer, Int32(index), 0))
        }
    }

    override func step() throws -> Bool {
        guard bindingFailure == SQLITE_OK else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: bindingFailure), message: "a value could not be bound",
                sql: prepared.sql)
        }
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let connection = sqlite3_db_handle(pointer)
            throw DatabaseError(
                resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
                message: String(cString: sqlite3_errmsg(connection)), sql: prepared.sql)
        }
    }

    /// Makes the statement ready to be run again, with other values: binding NULL to most columns of a row, each by a call, would cost
    /// more than letting go of all values at once.
    override func reset() {
        sqlite3_reset(pointer)
        sqlite3_clear_bindings(pointer)
        bindingFailure = SQLITE_OK
    }

    override func integer(_ column: Int) -> Int64 {
        sqlite3_column_int64(pointer, Int32(column))
    }

    override func real(_ column: Int) -> Double {
        sqlite3_column_double(pointer, Int32(column))
    }

    override func text(_ column: Int) -> String? {
        guard let start = sqlite3_column_text(pointer, Int32(column)) else { return nil }
        let count = Int(sqlite3_column_bytes(pointer, Int32(column)))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    override func text(_ column: Int, isWrittenAs bytes: [UInt8]) -> Bool {
        guard let start = sqlite3_column_text(pointer, Int32(column)) else { return false }
        let count = Int(sqlite3_column_bytes(pointer, Int32(column)))
        return UnsafeBufferPointer(start: start, count: count).elementsEqual(bytes)
    }

    /// The bytes of a column; none when it is NULL.
    ///
    /// - Throws: when there is no memory to read them. SQLite answers as for an empty value then, and an empty payload
    ///   would be worked.
    override func bytes(_ column: Int) throws -> [UInt8] {
        guard let start = sqlite3_column_blob(pointer, Int32(column)) else {
            let connection = sqlite3_db_handle(pointer)
            guard sqlite3_errcode(connection) != SQLITE_NOMEM else {
                throw DatabaseError(resultCode: .SQLITE_NOMEM, sql: prepared.sql)
            }
            return []
        }
        let count = Int(sqlite3_column_bytes(pointer, Int32(column)))
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    override func isNull(_ column: Int) -> Bool {
        sqlite3_column_type(pointer, Int32(column)) == SQLITE_NULL
    }

    // SQLITE_TRANSIENT, a macro that Swift does not see: SQLite copies the text before the call returns.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
