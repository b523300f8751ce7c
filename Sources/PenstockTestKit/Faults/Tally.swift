internal import PenstockCore
import Synchronization

/// A count that only rises, and that a test can wait for: the signal that something has happened often enough.
public final class Tally: Sendable {
    private struct State {
        var count = 0
        var waiting: [(count: Int, waiter: Waiter<Void>)] = []
    }

    private let state = Mutex(State())

    /// Makes a count of zero.
    public init() {}

    /// How often it has happened.
    public var count: Int { state.withLock { $0.count } }

    /// Counts one more, and wakes whom that is enough for.
    ///
    /// - Returns: the count, this one included.
    @discardableResult
    public func add() -> Int {
        let (count, content) = state.withLock { state in
            state.count += 1
            let content = state.waiting.filter { $0.count <= state.count }
            state.waiting.removeAll { $0.count <= state.count || $0.waiter.isOver }
            return (state.count, content)
        }
        for (_, waiter) in content { waiter.resume() }
        return count
    }

    /// Returns once the count is `count` or more.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func wait(for count: Int) async throws {
        let waiter = state.withLock { state -> Waiter<Void>? in
            if state.count >= count { return nil }
            let waiter = Waiter<Void>()
            state.waiting.append((count, waiter))
            return waiter
        }
        try await waiter?.wait()
        try Task.checkCancellation()
    }
}
