import PenstockCore
import Synchronization

/// Whether the client of a connection is still there for the answer.
final class ClientPresence: Sendable {
    private struct State {
        var isGone = false
        var waiters: [ObjectIdentifier: Waiter<Void>] = [:]
    }

    private let state = Mutex(State())

    init() {}

    /// Whether the client has closed the connection, or its own half of it.
    var isGone: Bool { state.withLock { $0.isGone } }

    /// The client is gone.
    func end() {
        let waiters = state.withLock { state in
            state.isGone = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the client is gone.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    func waitForEnd() async throws {
        let waiter = Waiter<Void>()
        let id = ObjectIdentifier(waiter)
        let isGone = state.withLock { state in
            if !state.isGone { state.waiters[id] = waiter }
            return state.isGone
        }
        if isGone { return }
        defer { state.withLock { $0.waiters[id] = nil } }
        try await waiter.wait()
    }
}
