import Synchronization

/// A count that only rises, and that a test can wait for: the signal that something has happened often enough.
public final class Tally: Sendable {
    private struct Waiter {
        var count: Int
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var count = 0
        var waiters: [UInt64: Waiter] = [:]
        var nextID: UInt64 = 0
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
            let content = state.waiters.filter { $0.value.count <= state.count }
            for id in content.keys { state.waiters[id] = nil }
            return (state.count, content.values.map(\.continuation))
        }
        for continuation in content { continuation.resume() }
        return count
    }

    /// Returns once the count is `count` or more.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func wait(for count: Int) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.count >= count { return .success(()) }
                    state.waiters[id] = Waiter(count: count, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }
}
