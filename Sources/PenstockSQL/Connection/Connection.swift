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

    /// Runs a statement that gives no rows, with the values that `bind` binds. On the path of every message: no list of values is made.
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
