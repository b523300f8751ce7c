import GRDB
import Synchronization

/// The connection by which a file is read that no program writes. It is kept from one reading to the next while the file stays as it is: a
/// program that follows a log looks ten times a second, and to open a file and to read its schema costs far more than a look.
///
/// SQLite takes such a file for one that never changes, and would not see that it has. So a file that was written to a moment ago is opened
/// for each reading: a change within the steps in which the system counts the times of files would leave it looking the same.
final class StillConnection: Sendable {
    private struct Kept {
        let connection: DatabaseQueue
        let stillness: FileStillness
    }

    private struct State {
        var kept: Kept?
        var isClosed = false
    }

    private let state = Mutex(State())
    private let settledSeconds: Int

    /// - Parameter settledSeconds: for how long a file must not have been written to, for a connection to be kept.
    init(settledSeconds: Int) {
        self.settledSeconds = settledSeconds
    }

    /// The connection that is kept now.
    var kept: DatabaseQueue? { state.withLock { $0.kept?.connection } }

    /// Gives `body` the file as it is while it looks like that. Readings at the same time have a connection each.
    ///
    /// - Parameter open: opens the file anew.
    func read<T>(
        _ stillness: FileStillness, opening open: () throws -> DatabaseQueue, _ body: (Database) throws -> T
    ) throws -> T {
        let before = state.withLock { $0.kept.take() }
        let connection: DatabaseQueue
        var mayStay = true
        if let before, before.stillness == stillness {
            connection = before.connection
        } else {
            try before?.connection.close()
            // Asked before it is opened: whatever is written after that looks different.
            mayStay = stillness.isSettled(for: settledSeconds)
            connection = try open()
        }
        let value = try connection.read(body)
        if !mayStay || !keep(Kept(connection: connection, stillness: stillness)) { try connection.close() }
        return value
    }

    private func keep(_ kept: Kept) -> Bool {
        state.withLock { state in
            if state.isClosed || state.kept != nil { return false }
            state.kept = kept
            return true
        }
    }

    /// Lets go of the file until the next reading.
    func letGo() throws { try state.withLock { $0.kept.take() }?.connection.close() }

    /// Lets go of the file for good.
    func close() throws {
        let kept = state.withLock { state in
            state.isClosed = true
            return state.kept.take()
        }
        try kept?.connection.close()
    }
}
