import CPenstockPostgres
import PenstockSQL

/// A server's connection, as the operations of the store use it: they say what they want as SQLite understands it, and
/// ``Dialect`` says it to the server.
final class PostgresConnection: Connection {
    let server: ServerConnection
    private var statementCount = 0
    /// How often the server was told to forget all that was prepared.
    fileprivate var releases = 0

    /// Whether attempts are made in a savepoint each, so that a refusal ends the attempt and not the transaction.
    var guardsAttempts = false
    /// Whether statements without rows are sent ahead of their answers (``Pipeline``): in a transaction, and where no attempt has to
    /// know at once what came of it.
    var sendsAhead = false {
        didSet { forgetPrefetched() }
    }
    /// Statements whose rows were asked for before they were run.
    fileprivate var prefetched: [PostgresStatement] = []
    /// Tables that will be written before a statement that is said to come is run.
    fileprivate var toBeWritten: Set<Substring> = []
    /// How far its looks have come for verdicts said in SQL that nobody asks for any more.
    var leftVerdicts = LeftVerdicts()

    init(_ server: ServerConnection) {
        self.server = server
    }

    /// A statement that was refused, where attempts are not guarded: the transaction is of no use any more, and is made again with
    /// guards. So an attempt costs nothing where nothing contradicts itself, which is always.
    struct Contradicted: Error {
        let cause: ServerError
    }

    override func attempt<T>(_ body: () throws -> T) throws -> T {
        guard guardsAttempts else {
            do {
                return try body()
            } catch let error as ServerError where error.isContradiction {
                throw Contradicted(cause: error)
            }
        }
        try server.run("SAVEPOINT penstock_attempt")
        do {
            let value = try body()
            try server.run("RELEASE penstock_attempt")
            return value
        } catch let error as ServerError where error.isContradiction {
            try server.run("ROLLBACK TO penstock_attempt; RELEASE penstock_attempt")
            throw error
        }
    }

    override func forget(_ statement: PreparedStatement) {
        guard let name = (statement as? PostgresStatement)?.name else { return }
        _ = try? server.run("DEALLOCATE \(name)")
    }

    /// Takes note that the server knows none of the statements any more. Each is prepared again when it is run next.
    func forgetPrepared() { releases += 1 }

    override func prepare(_ sql: String) throws -> PreparedStatement {
        PostgresStatement(Dialect.statement(sql), self)
    }

    override var isServer: Bool { true }

    /// Whether the server was a standby when it answered last. A promotion ends no connection.
    func isStandby() throws -> Bool {
        if let reported = server.reported("in_hot_standby") { return reported == "on" }
        // A server of release 13 reports no such setting.
        return try first(Self.selectRecovery) { $0.integer(0) != 0 } == true
    }

    private static let selectRecovery = Query("SELECT pg_is_in_recovery()::int")

    /// Takes what was prefetched for what a statement finds that is run now no longer.
    func forgetPrefetched() {
        for statement in prefetched { statement.prefetched = nil }
        prefetched = []
        toBeWritten = []
    }

    override func willWrite(_ table: String) { toBeWritten.insert(table[...]) }

    /// A statement is about to be run.
    fileprivate func willRun(_ effect: Dialect.Effect) {
        if prefetched.isEmpty { return }
        switch effect {
        case .none: break
        case .writes(let tables):
            for statement in prefetched where statement.reads(tables) { statement.prefetched = nil }
        case .unknown: forgetPrefetched()
        }
    }

    override func changesCount() throws -> Int { try server.changesCount() }

    fileprivate func newName() -> String {
        statementCount += 1
        return "penstock_\(statementCount)"
    }
}

/// A statement that a server has prepared. It is run at its first step, which brings all its rows.
final class PostgresStatement: PreparedStatement {
    private let statement: Dialect.Statement
    private var sql: String { statement.sql }
    /// Its rows, if they were asked for and are still what it would find.
    fileprivate var prefetched: Prefetched?
    private unowned let connection: PostgresConnection
    /// The name under which the server was told of it, the types of its parameters there, and how often the server had forgotten all
    /// before; `nil`: it was not run yet.
    private var prepared: (name: String, types: [Oid], releases: Int)?
    /// The same, if the server knows it still.
    private var known: (name: String, types: [Oid], releases: Int)? {
        prepared.flatMap { $0.releases == connection.releases ? $0 : nil }
    }
    /// The name under which the server knows it.
    fileprivate var name: String? { known?.name }
    private var values: [[UInt8]?]
    private var types: [Oid]
    /// The types of parameters that have no value.
    private let unbound: [Oid]
    private var result: ServerResult?
    private var row: Int32 = -1

    init(_ statement: Dialect.Statement, _ connection: PostgresConnection) {
        self.statement = statement
        self.connection = connection
        let named = statement.parameters
        values = Array(repeating: nil, count: named.max() ?? 0)
        // The server does not guess the type of one that the statement does not name.
        unbound = values.indices.map { named.contains($0 + 1) ? 0 : BinaryForm.text }
        types = unbound
    }

    override func bind(_ value: Int64, at index: Int) { set(BinaryForm.encode(value), BinaryForm.integer, at: index) }
    override func bind(_ value: Double, at index: Int) { set(BinaryForm.encode(value), BinaryForm.real, at: index) }
    override func bind(_ text: String, at index: Int) { set(BinaryForm.encode(text), BinaryForm.text, at: index) }
    override func bind(_ bytes: [UInt8], at index: Int) { set(bytes, BinaryForm.bytes, at: index) }
    override func bind(uncopied bytes: UnsafeRawBufferPointer, at index: Int) {
        set(Array(bytes), BinaryForm.bytes, at: index)
    }

    private func set(_ value: [UInt8], _ type: Oid, at index: Int) {
        guard index <= values.count else { return }
        values[index - 1] = value
        types[index - 1] = type
    }

    override func run() throws {
        guard connection.sendsAhead else {
            _ = try step()
            return
        }
        connection.willRun(statement.effect)
        try carryOut { try connection.server.send(prepared: $0, values) }
    }

    override func prefetch() throws {
        guard connection.sendsAhead, statement.tables.isDisjoint(with: connection.toBeWritten) else { return }
        let rows = Prefetched(values)
        try carryOut { try connection.server.send(prepared: $0, for: rows) }
        prefetched = rows
        connection.prefetched.append(self)
    }

    fileprivate func reads(_ tables: Set<Substring>) -> Bool { !statement.tables.isDisjoint(with: tables) }

    /// The rows that were prefetched, if they are those that it is to give now.
    private func takePrefetched() throws -> ServerResult? {
        guard let rows = prefetched, rows.values == values else { return nil }
        prefetched = nil
        if rows.result == nil { try connection.server.readPipeline() }
        return rows.result
    }

    override func step() throws -> Bool {
        if result == nil { result = try takePrefetched() }
        if result == nil {
            connection.willRun(statement.effect)
            try carryOut { name in
                let answer = try connection.server.run(prepared: name, values)
                connection.server.pipeline.lastChangesCount = answer.changesCount
                result = answer
            }
        }
        row += 1
        return row < result?.rowCount ?? 0
    }

    private func carryOut(_ body: (_ name: String) throws -> Void) throws {
        do {
            try body(try preparedName())
        } catch var error as ServerError {
            error.statement = sql
            throw error
        }
    }

    /// What is bound says of which type each parameter is. One that was NULL at the first time has the type that the server
    /// takes it for; should it not be that, the statement is prepared again.
    private func preparedName() throws -> String {
        if let known, zip(known.types, types).allSatisfy({ $0 == $1 || $1 == 0 }) { return known.name }
        if let known { try connection.server.run("DEALLOCATE \(known.name)") }
        prepared = nil
        let name = connection.newName()
        try connection.server.prepare(name, sql, types: types)
        prepared = (name, types, connection.releases)
        return name
    }

    override func reset() {
        result = nil
        row = -1
        for index in values.indices { values[index] = nil }
        types = unbound
    }

    override func integer(_ column: Int) -> Int64 {
        guard let result, !result.isNull(row, column) else { return 0 }
        return BinaryForm.integer(result.bytes(row, column), result.type(column))
    }

    override func real(_ column: Int) -> Double {
        guard let result, !result.isNull(row, column) else { return 0 }
        return BinaryForm.real(result.bytes(row, column), result.type(column))
    }

    override func text(_ column: Int) -> String? {
        guard let result, !result.isNull(row, column) else { return nil }
        return result.text(row, column)
    }

    override func text(_ column: Int, isWrittenAs bytes: [UInt8]) -> Bool {
        guard let result, !result.isNull(row, column) else { return false }
        return result.bytes(row, column).elementsEqual(bytes)
    }

    override func bytes(_ column: Int) throws -> [UInt8] {
        guard let result, !result.isNull(row, column) else { return [] }
        return Array(result.bytes(row, column))
    }

    override func isNull(_ column: Int) -> Bool { result?.isNull(row, column) ?? true }
}
