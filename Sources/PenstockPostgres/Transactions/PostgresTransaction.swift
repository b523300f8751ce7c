public import Penstock
package import PenstockCore
import PenstockProcesses
package import PenstockSQL

/// A transaction of the application's own, at the server where the queues are: its statements, and what it asks of the queues beside
/// them, are there together when it commits, or not at all.
///
/// `PenstockStore.transaction(durability:timeout:_:)` begins it, commits it when its body returns, and rolls it back when that
/// throws. It is of no use after that.
///
/// From the first call that concerns a queue to the end of the transaction it holds the store's writer lock: nobody else enqueues,
/// claims or settles meanwhile. So these calls come last, and nothing slow after them.
public final class PostgresTransaction: ApplicationTransaction {
    private let store: any SQLStore
    private let sessions: Sessions
    private let connection: PostgresConnection
    package let durability: Durability
    private var isOver = false
    /// Whether a call of the store's has failed as each one to come on this connection would, such as one whose prepared statement is gone.
    private(set) var isSpent = false

    /// What to ring for when it is committed.
    private(set) var rings: [(bucket: Int, ring: Ring)] = []
    private var committed: [() -> Void] = []
    private var whenOver: [(lease: Lease, committed: (_ isHeld: Bool) -> Void, rolledBack: () -> Void)] = []
    /// Those of the leases above that are held at its end.
    private var held: Set<Lease> = []

    init(
        of store: any SQLStore, _ sessions: Sessions, _ connection: PostgresConnection, durability: Durability
    ) {
        self.store = store
        self.sessions = sessions
        self.connection = connection
        self.durability = durability
    }

    // MARK: The application's statements

    /// Runs one statement, with `values` for `$1`, `$2` and so on.
    ///
    /// The `search_path` and the settings of the planner are the role's own, not the store's. A setting is changed with `SET LOCAL`.
    ///
    /// - Returns: how many rows it changed, or gave.
    /// - Throws: ``PostgresError`` when the server refuses it. The transaction can do nothing more then, unless it goes back to a
    ///   `SAVEPOINT`. `PenstockError` with code `unreachable` when the connection is lost, or `invalidInput`: `COPY` from or to the
    ///   client is refused so, and ends the transaction.
    @discardableResult
    public func execute(_ sql: String, _ values: PostgresValue...) throws -> Int {
        try run(sql, values).changesCount
    }

    /// Runs one statement, with `values` for `$1`, `$2` and so on.
    ///
    /// - Returns: its rows, all of them in memory.
    /// - Throws: as ``execute(_:_:)``.
    public func query(_ sql: String, _ values: PostgresValue...) throws -> [PostgresRow] {
        try run(sql, values).rows
    }

    private func run(_ sql: String, _ values: [PostgresValue]) throws -> ServerResult {
        try requireOpen()
        do {
            let answer = try server.run(sql, binding: values)
            // The store's statements are among them.
            if answer.command == "DEALLOCATE ALL" { connection.forgetPrepared() }
            try requireOpen()
            return answer
        } catch {
            throw PostgresError.translated(error, sessions.address, isLost: server.isLost)
        }
    }

    private var server: ServerConnection { connection.server }

    /// - Throws: `invalidInput` when it has ended, by itself or by a statement.
    private func requireOpen() throws {
        if isOver || !server.isLost && !server.isInTransaction {
            isOver = true
            throw PenstockError(
                .invalidInput,
                "The transaction has ended: it ends with its body, so use it there, and leave COMMIT and ROLLBACK to that."
            )
        }
    }

    // MARK: What the store does in it

    package var storage: any MessageStore { store }

    package var time: any TimeSource { store.core.time }

    /// As ``PenstockSQL/JoinableTransaction/join(duringMove:_:)``; the first one takes the writer lock.
    package func join<T>(duringMove: Departure.Allowance, _ body: (Transaction) throws -> T) throws -> T {
        try asStore {
            try WriterSession.lock(connection, sessions.clock)
            if try SaidVerdicts.areOpen(connection) {
                try carryOut { try SaidVerdicts.carryOut(connection, in: $0) }
            }
            return try carryOut {
                try $0.departure?.refuse(unless: duringMove)
                return try body($0)
            }
        }
    }

    /// Reads what the transaction sees. Nobody waits for that.
    package func read<T>(_ body: (Connection) throws -> T) throws -> T {
        try asStore { try body(connection) }
    }

    private func carryOut<T>(_ body: (Transaction) throws -> T) throws -> T {
        let transaction = try Transaction(
            connection, path: sessions.address.description, time: time, random: store.core.random,
            policies: PolicyCache())
        let value = try transaction.part(body)
        rings += transaction.rings
        committed.append(transaction.committed)
        return value
    }

    /// Runs `body` with the settings with which the store's statements were written, and puts the application's back.
    private func asStore<T>(_ body: () throws -> T) throws -> T {
        try requireOpen()
        let settings = Sessions.settings(sessions.address)
        let names = settings.map(\.name)
        let read = names.map { "current_setting('\($0)')" }
        let write = settings.map { "set_config('\($0.name)', \(ServerConnection.quoted(text: $0.value)), true)" }
        return try ServerFailures.translating(sessions.address) {
            let before = try server.run("SELECT \((read + write).joined(separator: ", "))")
            let back = names.indices.map {
                "set_config('\(names[$0])', \(ServerConnection.quoted(text: before.text(0, $0))), true)"
            }
            do {
                let value = try body()
                try server.run("SELECT \(back.joined(separator: ", "))")
                return value
            } catch {
                // A transaction in which that fails can do nothing more.
                _ = try? server.run("SELECT \(back.joined(separator: ", "))")
                if (error as? ServerError)?.isLost == true { isSpent = true }
                throw error
            }
        }
    }

    package func whenEnded(
        _ lease: Lease, committed: @escaping @Sendable (_ isHeld: Bool) -> Void,
        rolledBack: @escaping @Sendable () -> Void
    ) {
        whenOver.append((lease, committed, rolledBack))
    }

    // MARK: Its end

    /// The last thing before COMMIT: takes the writer lock, so that a connection which asks what came of the COMMIT can wait for it.
    ///
    /// - Throws: when the transaction cannot be committed.
    func prepare() throws {
        try requireOpen()
        try require(
            !server.hasFailed,
            "A statement of the transaction has failed, so nothing of it can be committed; let its error end the transaction."
        )
        isOver = true
        try server.run("SET LOCAL search_path = \(sessions.address.searchPath); SELECT penstock_write_lock()")
        held = Set(try whenOver.map(\.lease).filter { try Settling.isHeld($0, connection) })
    }

    func didCommit() {
        for action in committed { action() }
        for end in whenOver { end.committed(held.contains(end.lease)) }
    }

    func didRollBack() {
        isOver = true
        for end in whenOver { end.rolledBack() }
    }
}

extension PostgresError {
    /// A server's error of a statement of the application's own; that of a connection that is lost is a `PenstockError`.
    ///
    /// Letters by which the store gives a connection up may be an application's own: a function has met another server, say, or the
    /// server does not know what is asked for.
    ///
    /// - Parameter isLost: whether the connection is.
    static func translated(_ error: any Error, _ address: ServerAddress, isLost: Bool) -> any Error {
        guard let error = error as? ServerError, let state = error.state, !isLost else {
            return ServerFailures.translated(error, address)
        }
        return PostgresError(state: state, message: error.message)
    }
}
