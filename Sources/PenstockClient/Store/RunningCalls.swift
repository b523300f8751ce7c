import PenstockCore
import Synchronization

/// The calls that a client has begun. A close refuses further ones, and waits for these.
final class RunningCalls: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var waiters: [Waiter<Void>] = []
    }

    private let state = Mutex(State())

    /// Carries out a call, or throws `closed` when no further ones are made.
    func run<Value: Sendable>(_ call: () async throws -> Value) async throws -> Value {
        try state.withLock { state in
            if state.isClosed { throw PenstockError(.closed, "The store was closed.") }
            state.count += 1
        }
        defer { end() }
        return try await call()
    }

    private func end() {
        let waiters = state.withLock { state -> [Waiter<Void>] in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Refuses further calls, and returns when those have ended that were begun, also in a task that is cancelled.
    ///
    /// - Returns: whether this is the first to close.
    func close() async -> Bool {
        let waiter = Waiter<Void>()
        let (isFirst, isIdle) = state.withLock { state in
            defer { state.isClosed = true }
            if !state.isClosed, state.count > 0 { state.waiters.append(waiter) }
            return (!state.isClosed, state.count == 0)
        }
        if isFirst, !isIdle { try? await waiter.waitThoughCancelled() }
        return isFirst
    }
}
