import Synchronization

/// A connection of a database with its prepared statements. Belongs to one thread at a time.
///
/// Each engine has its own: what the operations of this module say in SQL is written once, and a connection says it to its
/// engine.
open class Connection {
    private var prepared: [PreparedStatement?] = []
    private var preparedByText: [String: PreparedStatement] = [:]

    /// How many statements that were put together are kept prepared: as many as there are questions in common use, and not as many as can
    /// be asked.
    private static let textsMax = 256

    /// For engines, which have connections of their own.
    public init() {}

    /// Prepares a statement. Called once for each ``Query``.
    open func prepare(_ sql: String) throws -> PreparedStatement {
        preconditionFailure("An engine's connection prepares its statements.")
    }

    /// How many rows the last statement changed.
    ///
    /// - Throws: what has failed of the statements up to that one and was not told yet.
    open func changesCount() throws -> Int { preconditionFailure("An engine's connection counts changes.") }

    /// Runs `body`, which writes and may be refused since that contradicts what is there, and then what it has written is undone and
    /// the transaction goes on. Engines whose transactions end with a refusal make their own arrangements here.
    open func attempt<T>(_ body: () throws -> T) throws -> T { try body() }

    /// Called for a statement that is kept no longer.
    open func forget(_ statement: PreparedStatement) {}

    /// Whether the engine is a server: the way to the rows is long, so what will be read is said beforehand
    /// (``PreparedStatement/prefetch()``), and statements may have a text of their own (``Query``).
    open var isServer: Bool { false }

    /// Says that a table is about to be written: nothing that reads it is worth a prefetch from now on.
    open func willWrite(_ table: String) {}

    /// The prepared form of `query`, reset and with nothing bound.
    package final func statement(_ query: Query) throws -> PreparedStatement {
        if query.index < prepared.count, let statement = prepared[query.index] {
            return statement
        }
        let statement = try prepare(isServer ? query.serverSQL : query.sql)
        while prepared.count <= query.index { prepared.append(nil) }
        prepared[query.index] = statement
        return statement
    }

    /// The prepared form of a statement that was put together for a question, reset and with nothing bound.
    package final func statement(sql: String) throws -> PreparedStatement {
        if let statement = preparedByText[sql] { return statement }
        let statement = try prepare(sql)
        if preparedByText.count >= Self.textsMax {
            for old in preparedByText.values { forget(old) }
            preparedByText = [:]
        }
        preparedByText[sql] = statement
        return statement
    }

    /// Runs a statement that gives no rows.
    package final func run(_ query: Query, _ values: Value...) throws {
        let statement = try statement(query)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        try statement.run()
    }

    /// Runs a statement that gives no rows and takes integers, on the path of every message: nothing is allocated.
    @inline(__always)
    package final func run(_ query: Query, bind: (PreparedStatement) -> Void) throws {
        let statement = try statement(query)
        bind(statement)
        defer { statement.reset() }
        try statement.run()
    }

    /// Says that `query` is about to be run with these values, where that is worth while.
    package final func prefetch(_ query: Query, _ values: Value...) throws {
        try prefetch(query) { statement in
            for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        }
    }

    /// Says that `query` is about to be run with the values that `bind` binds, where that is worth while.
    package final func prefetch(_ query: Query, bind: (PreparedStatement) -> Void) throws {
        guard isServer else { return }
        let statement = try statement(query)
        defer { statement.reset() }
        bind(statement)
        try statement.prefetch()
    }

    /// The first row of a statement, as `read` sees it; `nil` when there is none.
    package final func first<T>(
        _ query: Query, _ values: Value..., read: (PreparedStatement) throws -> T
    ) throws -> T? {
        let statement = try statement(query)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        return try statement.step() ? read(statement) : nil
    }

    /// The integer that the first row of a statement begins with; `nil` when there is none.
    package final func integer(_ query: Query, _ values: Value...) throws -> Int64? {
        let statement = try statement(query)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        return try statement.step() ? statement.integer(0) : nil
    }

    /// Whether a statement gives any row.
    package final func has(_ query: Query, _ values: Value...) throws -> Bool {
        let statement = try statement(query)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        return try statement.step()
    }

    /// Every row of a statement, as `read` sees it.
    package final func all<T>(
        _ query: Query, _ values: Value..., read: (PreparedStatement) throws -> T
    ) throws -> [T] {
        try all(try statement(query), values, read: read)
    }

    /// Every row of a statement that was prepared for its text, as `read` sees it.
    package final func all<T>(
        _ statement: PreparedStatement, _ values: [Value], read: (PreparedStatement) throws -> T
    ) throws -> [T] {
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
        var rows: [T] = []
        while try statement.step() { rows.append(try read(statement)) }
        return rows
    }
}

/// An engine's error.
public protocol EngineError: Error {
    /// Whether a statement was refused since what it wrote contradicts what is there.
    var isContradiction: Bool { get }
}

extension Error {
    /// Whether a statement was refused since what it wrote contradicts what is there. It has written nothing then, and
    /// the transaction goes on if it was made in ``Connection/attempt(_:)``.
    package var isContradiction: Bool { (self as? any EngineError)?.isContradiction ?? false }
}

/// A value on its way into a statement.
public enum Value: Sendable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case null

    package init(_ value: Int64?) { self = value.map(Value.integer) ?? .null }
    package init(_ value: String?) { self = value.map(Value.text) ?? .null }
}

extension Value: ExpressibleByIntegerLiteral {
    /// The integer as a value.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension Value {
    /// The messages that one statement is about: a JSON array of their numbers, which the statement reads by `json_each`.
    static func sequences(_ sequences: [Int64]) -> Value {
        var text = "["
        for sequence in sequences {
            if text.utf8.count > 1 { text += "," }
            text += String(sequence)
        }
        return .text(text + "]")
    }
}

/// One fixed SQL statement. Each connection prepares it once, on first use, and keeps it.
package struct Query: Sendable {
    /// Its index in a connection's table of prepared statements.
    let index: Int
    package let sql: String
    /// What a server is asked, which may know more of its tables.
    let serverSQL: String

    private static let count = Atomic<Int>(0)

    /// Makes a statement. Called for `static let` constants only, so the number of statements is fixed.
    ///
    /// - Parameter server: another text for servers.
    package init(_ sql: String, server: String? = nil) {
        index = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue
        self.sql = sql
        serverSQL = server ?? sql
    }
}

/// A prepared statement of an engine: values are bound, rows are stepped through, and then it is reset.
///
/// Columns count from 0, bound values from 1, as in SQLite.
open class PreparedStatement {
    /// For engines, which have statements of their own.
    public init() {}

    open func bind(_ value: Int64, at index: Int) { Self.isEngines() }
    open func bind(_ value: Double, at index: Int) { Self.isEngines() }
    open func bind(_ text: String, at index: Int) { Self.isEngines() }
    open func bind(_ bytes: [UInt8], at index: Int) { Self.isEngines() }
    /// Binds `bytes` without a copy; they must outlive the next step.
    open func bind(uncopied bytes: UnsafeRawBufferPointer, at index: Int) { Self.isEngines() }

    /// Carries out a statement that gives no rows. An engine may let its failure be told by a later statement of the transaction.
    open func run() throws { _ = try step() }
    /// Asks for the rows with what else is asked for, of a statement that reads tables and no views. When it is run with the same
    /// values it gives them, if nothing was written meanwhile to a table that it reads; else it asks anew.
    open func prefetch() throws {}
    /// Goes to the next row; false at the end.
    open func step() throws -> Bool { Self.isEngines() }
    /// Makes the statement ready to be run again, with other values.
    open func reset() { Self.isEngines() }

    open func integer(_ column: Int) -> Int64 { Self.isEngines() }
    open func real(_ column: Int) -> Double { Self.isEngines() }
    open func text(_ column: Int) -> String? { Self.isEngines() }
    /// Whether a column has a text of these bytes. NULL has none.
    open func text(_ column: Int, isWrittenAs bytes: [UInt8]) -> Bool { Self.isEngines() }
    /// The bytes of a column; none when it is NULL.
    ///
    /// - Throws: when there is no memory to read them.
    open func bytes(_ column: Int) throws -> [UInt8] { Self.isEngines() }
    open func isNull(_ column: Int) -> Bool { Self.isEngines() }

    package final func bind(_ value: Value, at index: Int) {
        switch value {
        case .integer(let integer): bind(integer, at: index)
        case .real(let real): bind(real, at: index)
        case .text(let text): bind(text, at: index)
        // Nothing is bound to begin with, and that is NULL.
        case .null: break
        }
    }

    package final func optionalInteger(_ column: Int) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    private static func isEngines() -> Never { preconditionFailure("An engine has its own statements.") }
}
