import PenstockCore
import PenstockProcesses
import PenstockSQL
import Synchronization

/// Connections for transactions of the application's own, each for one at a time.
///
/// As a writer's, a transaction commits without a wait for the disk, so that nobody waits for the writer lock meanwhile; its caller
/// then waits for one small record.
final class TransactionPool: Sendable {
    private struct State {
        var idle: [Session] = []
        var isClosed = false
        var number: Int64 = 0
    }

    /// A connection, and the number of its row in `penstock_writer`. Handed from thread to thread, and used by one at a time.
    private final class Session: @unchecked Sendable {
        let connection: PostgresConnection
        let writer: Int64

        init(_ connection: PostgresConnection, writer: Int64) {
            self.connection = connection
            self.writer = writer
        }

        var server: ServerConnection { connection.server }
    }

    /// How many transactions, and threads, a process has at once. Further callers wait, and have no thread meanwhile.
    private static let countMax = 4
    /// How long a server that says something at last has to say it.
    private static let grace = Duration.seconds(1)

    private let sessions: Sessions
    private let bell: ServerBell
    private let state = Mutex(State())
    private let places = ReadingPlaces(countMax)

    init(_ sessions: Sessions, bell: ServerBell) {
        self.sessions = sessions
        self.bell = bell
    }

    /// How many callers wait for the transactions before theirs.
    var waitingCount: Int { places.waitingCount }

    /// Runs `body` in a transaction, and commits it, on a thread that may block. A caller that is cancelled waits all the same.
    func run<Answer: Sendable>(
        of store: any SQLStore, durability: Durability, timeout: Duration,
        _ body: @escaping @Sendable (PostgresTransaction) throws -> Answer
    ) async throws -> Answer {
        let end = ContinuousClock.now + timeout
        // A task of its own: what has begun goes on, and so does what waits to begin.
        let transaction = Task { [self] in
            try await places.run(within: timeout) { [self] in
                try run(of: store, durability: durability, until: end, body)
            }
        }
        do {
            return try await transaction.value
        } catch is DeadlinePassed {
            throw PenstockError(
                .busy, "\(Self.countMax) other transactions of this process did not end in time; make the call again.")
        }
    }

    private func run<Answer>(
        of store: any SQLStore, durability: Durability, until end: ContinuousClock.Instant,
        _ body: (PostgresTransaction) throws -> Answer
    ) throws -> Answer {
        let session = try begun(until: end)
        let transaction = PostgresTransaction(of: store, sessions, session.connection, durability: durability)
        let answer: Answer
        do {
            answer = try body(transaction)
            try transaction.prepare()
        } catch {
            giveUp(session, isSpent: transaction.isSpent || (error as? ServerError)?.isLost == true)
            transaction.didRollBack()
            throw ServerFailures.translated(error, sessions.address)
        }
        let mark = CommitMark(writer: session.writer, number: nextNumber)
        let committed = try commit(session, mark, transaction, until: end)
        transaction.didCommit()
        bell.ring(transaction.rings)
        let last = durability == .powerLoss ? try flushed(committed, mark, until: end) : committed
        // A call may have failed behind a savepoint.
        if transaction.isSpent, last === session { removeRow(of: last) } else { keep(last) }
        return answer
    }

    private var nextNumber: Int64 {
        state.withLock { state in
            state.number += 1
            return state.number
        }
    }

    // MARK: Its steps

    /// A connection on which a transaction has begun. Nothing was done yet, so whatever is lost on the way is tried again.
    private func begun(until end: ContinuousClock.Instant) throws -> Session {
        var backoff = Backoff()
        while true {
            let idle = state.withLock { state in
                state.idle.removeAll { $0.server.isSuperseded }
                return state.idle.popLast()
            }
            do {
                let session = try idle ?? connected(until: end)
                session.server.deadline = end + Self.grace
                let left = max(1, (end - .now).wholeMicroseconds / 1000)
                try session.server.run(
                    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL statement_timeout = \(left)")
                return session
            } catch let error as ServerError where error.isLost || error.mayBeTriedAgain {
                guard ContinuousClock.now < end else { throw ServerFailures.translated(error, sessions.address) }
                if idle == nil { backoff.wait(until: end) }
            } catch {
                throw ServerFailures.translated(error, sessions.address)
            }
        }
    }

    private func connected(until end: ContinuousClock.Instant) throws -> Session {
        // It waits for standbys at its end: of a process that was killed then, it must not say that it lives. The bell's does.
        bell.start()
        let server = try sessions.connect(waitsForStandbys: true)
        server.deadline = max(end, .now) + Self.grace
        try ServerLife.begin(server)
        // The application's statements were not written for the store's settings.
        try server.run(Sessions.settings(sessions.address).map { "RESET \($0.name)" }.joined(separator: "; "))
        let connection = PostgresConnection(server)
        connection.guardsAttempts = true
        return Session(connection, writer: CommitMark.newRow())
    }

    /// - Returns: a connection to the server that has the transaction.
    private func commit(
        _ session: Session, _ mark: CommitMark, _ transaction: PostgresTransaction, until end: ContinuousClock.Instant
    ) throws -> Session {
        session.server.deadline = end + Self.grace
        var isMarked = false
        do {
            try mark.write(session.connection)
            isMarked = true
            bell.willCommit()
            try session.server.commit()
            return session
        } catch let error as ServerError where error.isLost && (error.state == nil || session.server.isLost) {
            sessions.abandon(session.server)
            do {
                let (other, isThere) = try outcome(of: mark, until: end)
                if isThere { return other }
                keep(other)
            } catch let failure {
                transaction.didRollBack()
                throw ServerFailures.unknown(sessions.address, failure)
            }
            transaction.didRollBack()
            throw ServerFailures.translated(error, sessions.address)
        } catch {
            // A constraint that is deferred; or what writes the mark was let go of by the application.
            giveUp(session, isSpent: !isMarked && (error as? ServerError)?.isLost == true)
            transaction.didRollBack()
            throw PostgresError.translated(error, sessions.address, isLost: session.server.isLost)
        }
    }

    /// Whether a transaction took effect, on a new connection.
    private func outcome(of mark: CommitMark, until end: ContinuousClock.Instant) throws -> (Session, Bool) {
        try often(until: end) {
            let session = try connected(until: end)
            // The old connection's transaction may still be about to commit; it holds the lock until it has.
            try session.server.run("\(begin); SELECT penstock_write_lock()")
            let isThere = try mark.isThere(session.server)
            try session.server.run("COMMIT")
            return (session, isThere)
        }
    }

    /// Waits until what was committed is on the server's disk, and on the standbys that it waits for.
    private func flushed(_ session: Session, _ mark: CommitMark, until end: ContinuousClock.Instant) throws -> Session {
        var current: Session? = session
        do {
            return try often(until: end) {
                while true {
                    if current?.server.isSuperseded == true { current = nil }
                    let session = try current ?? connected(until: end)
                    let isNew = current == nil
                    current = nil
                    session.server.deadline = end + Self.grace
                    // Another server, or the same after a crash, may not have it.
                    if isNew {
                        try session.server.run(begin)
                        let isThere = try mark.isThere(session.server)
                        try session.server.run("COMMIT")
                        if !isThere { throw ServerFailures.unknown(self.sessions.address, nil) }
                    }
                    do {
                        let failure = try FlushLine.commit(session.server, sessions, Self.record)
                        if let failure { throw failure }
                    } catch {
                        sessions.abandon(session.server)
                        throw error
                    }
                    // Another connection has found the server that was promoted since: whether that has it is to be seen.
                    if !session.server.isSuperseded { return session }
                    sessions.abandon(session.server)
                }
            }
        } catch let error as PenstockError {
            throw error
        } catch {
            throw ServerFailures.unknown(sessions.address, error)
        }
    }

    /// A small record of the log, in a transaction that waits for the disk.
    private static func record(_ server: ServerConnection) throws {
        try server.run(
            "BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'penstock', ''); COMMIT")
    }

    private func often<T>(until end: ContinuousClock.Instant, _ body: () throws -> T) throws -> T {
        var backoff = Backoff()
        while true {
            do {
                return try body()
            } catch let error as ServerError where error.isInTheWay && ContinuousClock.now < end {
                backoff.wait(until: end)
            }
        }
    }

    /// Begins a transaction of the store's own.
    private var begin: String { "BEGIN; SET LOCAL search_path = \(sessions.address.searchPath)" }

    // MARK: Connections

    /// Ends a transaction that came to nothing.
    ///
    /// - Parameter isSpent: whether the connection is of no use to another one.
    private func giveUp(_ session: Session, isSpent: Bool) {
        let server = session.server
        server.deadline = .now + Self.grace * 5
        let isOver = !server.isLost && (!server.isInTransaction || (try? server.run("ROLLBACK")) != nil)
        guard isOver else { return sessions.abandon(server) }
        if isSpent { removeRow(of: session) } else { keep(session) }
    }

    private func keep(_ session: Session) {
        if session.server.isLost { return }
        state.withLock { if !$0.isClosed { $0.idle.append(session) } }
    }

    /// Lets go of the connections, and of their rows. One that is in use ends with its transaction.
    func close() async {
        let idle = drop()
        if idle.isEmpty { return }
        try? await SystemThread.run { [self] in
            for session in idle { removeRow(of: session) }
        }
    }

    /// Removes the row of a connection that is used no more. One that stays is removed after a day.
    private func removeRow(of session: Session) {
        if session.server.isLost { return }
        let table = ServerConnection.quoted(name: sessions.address.schema) + ".penstock_writer"
        session.server.deadline = .now + .seconds(2)
        _ = try? session.server.run("DELETE FROM \(table) WHERE id = \(session.writer)")
    }

    /// Takes no more transactions, and lets go of the connections as they are.
    @discardableResult
    private func drop() -> [Session] {
        state.withLock { state in
            defer { state.idle = [] }
            state.isClosed = true
            return state.idle
        }
    }

    /// Stops as a killed process does. For tests of crashes.
    func crash() { drop() }
}
