import Foundation
import PenstockCore
import PenstockProcesses
import PenstockSQL
import Synchronization

/// Connections that read, each for one caller at a time. Each reading is one snapshot of the database.
final class ReaderPool: Sendable {
    private struct State {
        var idle: [Reader] = []
        var busyCount = 0
        var isClosed = false
    }

    /// Handed from thread to thread, and used by one at a time.
    private final class Reader: @unchecked Sendable {
        let connection: PostgresConnection

        init(_ connection: PostgresConnection) { self.connection = connection }
    }

    /// How many connections a process reads with at most. Further callers wait.
    private static let countMax = 4

    private let sessions: Sessions
    private let state = Mutex(State())
    private let places = DispatchSemaphore(value: countMax)

    init(_ sessions: Sessions) { self.sessions = sessions }

    /// Runs `body` in a snapshot, on a thread that may block.
    func read(_ body: @escaping @Sendable (Connection) throws -> Void) async throws {
        try await SystemThread.run { [self] in
            places.wait()
            defer { places.signal() }
            do {
                try readOnce(body)
            } catch let error as ServerError where error.isLost {
                // An idle connection may have died since it was used last. All of them may have.
                state.withLock { $0.idle = [] }
                do { try readOnce(body) } catch { throw ServerFailures.translated(error, sessions.address) }
            } catch {
                throw ServerFailures.translated(error, sessions.address)
            }
        }
    }

    private func readOnce(_ body: (Connection) throws -> Void) throws {
        let reader = try state.withLock { $0.idle.popLast() } ?? Reader(PostgresConnection(sessions.connect()))
        let server = reader.connection.server
        try server.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        do {
            try body(reader.connection)
            try server.run("COMMIT")
        } catch {
            if !server.isLost, (try? server.run("ROLLBACK")) != nil { keep(reader) }
            throw error
        }
        keep(reader)
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
