import PenstockCore
import PenstockProcesses
import PenstockSQL
import Synchronization

/// Connections that read, each for one caller at a time. Each reading is one snapshot of the database.
final class ReaderPool: Sendable {
    private struct State {
        var idle: [Reader] = []
        var isClosed = false
        /// Why the last reading failed, if the server was away. It has answered nobody since.
        var away: ServerError?
    }

    /// Handed from thread to thread, and used by one at a time.
    private final class Reader: @unchecked Sendable {
        let connection: PostgresConnection

        init(_ connection: PostgresConnection) { self.connection = connection }
    }

    /// How many connections, and threads, a process reads with at most. Further callers wait.
    private static let countMax = 4

    private let sessions: Sessions
    private let state = Mutex(State())
    private let places: ReadingPlaces

    /// - Parameter time: by which callers wait for those who read before.
    init(_ sessions: Sessions, time: any TimeSource = SystemTime()) {
        self.sessions = sessions
        places = ReadingPlaces(Self.countMax, time: time)
    }

    /// How long a server that is away is waited for: until another one is there, or the same has started again.
    private static let awayMax = Duration.seconds(5)

    /// How many callers wait for those who read before.
    var waitingCount: Int { places.waitingCount }

    /// Runs `body` in a snapshot, on a thread that may block. Callers that wait for those who read before have no thread.
    ///
    /// - Throws: `unreachable` some seconds after the server went away; `busy` when those who read before do not end; `CancellationError`
    ///   when the task is cancelled before the reading begins.
    func read(_ body: @escaping @Sendable (Connection) throws -> Void) async throws {
        let awayMax = min(Self.awayMax, sessions.busyMax)
        let end = ContinuousClock.now + awayMax
        // Callers that find the server away hold their places for seconds; a caller behind them need not find out again.
        let patience = away == nil ? sessions.busyMax : awayMax
        do {
            try await places.run(within: patience) { [self] in try read(body, until: end) }
        } catch is DeadlinePassed {
            throw away.map { ServerFailures.translated($0, sessions.address) }
                ?? PenstockError(
                    .busy, "\(sessions.address.description) does not answer those who read; make the call again.")
        }
    }

    private func read(_ body: (Connection) throws -> Void, until end: ContinuousClock.Instant) throws {
        do {
            if let away, .now >= end { throw away }
            try readOften(body, until: end)
            state.withLock { $0.away = nil }
        } catch {
            let lost = (error as? ServerError).flatMap { $0.isLost ? $0 : nil }
            state.withLock { $0.away = lost }
            throw ServerFailures.translated(error, sessions.address)
        }
    }

    private func readOften(_ body: (Connection) throws -> Void, until end: ContinuousClock.Instant) throws {
        var backoff = Backoff()
        while true {
            do {
                return try readOnce(body)
            } catch let error as ServerError where error.isLost || error.mayBeTriedAgain {
                // An idle connection may have died since it was used last. All of them may have.
                let hadIdle = state.withLock { state in
                    defer { state.idle = [] }
                    return !state.idle.isEmpty
                }
                guard ContinuousClock.now < end, !isClosed else { throw error }
                if !hadIdle { backoff.wait(until: end) }
            }
        }
    }

    private var away: ServerError? { state.withLock { $0.away } }

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    private func readOnce(_ body: (Connection) throws -> Void) throws {
        let idle = state.withLock { state in
            state.idle.removeAll { $0.connection.server.isSuperseded }
            return state.idle.popLast()
        }
        let reader = try idle ?? Reader(PostgresConnection(sessions.connect()))
        let server = reader.connection.server
        try begin(server)
        do {
            try body(reader.connection)
            try server.run("COMMIT")
        } catch {
            if !server.isLost, (try? server.run("ROLLBACK")) != nil { keep(reader) }
            throw error
        }
        keep(reader)
    }

    /// Begins a snapshot, which is no work. A server that is frozen or cut off says nothing, and is waited for no longer than one that is
    /// away; how long `body` may take is another question.
    private func begin(_ server: ServerConnection) throws {
        server.deadline = .now + Self.awayMax
        defer { server.deadline = nil }
        try server.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    private func keep(_ reader: Reader) {
        state.withLock { if !$0.isClosed { $0.idle.append(reader) } }
    }

    /// Lets go of the connections. One that is in use ends with its reading.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.idle = []
        }
    }
}
