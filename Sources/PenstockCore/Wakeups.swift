import Synchronization

/// Wakes who waits for a queue to change.
///
/// A waiter takes a token, looks at the store, and then waits for a ring later than the token. A ring that came
/// between the two is not lost: the wait returns at once. So nobody sleeps through a change.
public final class Wakeups: Sendable {
    /// A moment in the order of rings.
    public struct Token: Hashable, Sendable {
        fileprivate let rings: UInt64
    }

    private struct Waiter {
        var queue: QueueName
        var after: UInt64
        var continuation: CheckedContinuation<Void, any Error>
    }

    /// Who waits until so many wait for a ring.
    private struct Watcher {
        var count: Int
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var ringsOfAll: UInt64 = 0
        var rings: [QueueName: UInt64] = [:]
        var waiters: [UInt64: Waiter] = [:]
        var watchers: [UInt64: Watcher] = [:]
        var nextID: UInt64 = 0

        func count(of queue: QueueName) -> UInt64 {
            ringsOfAll + (rings[queue] ?? 0)
        }

        mutating func takeWatchers() -> [CheckedContinuation<Void, any Error>] {
            guard !watchers.isEmpty else { return [] }
            let content = watchers.filter { $0.value.count <= waiters.count }
            for id in content.keys { watchers[id] = nil }
            return content.values.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    /// Makes a bell that nobody has rung.
    public init() {}

    /// The present moment in the order of the rings for `queue`.
    public func token(for queue: QueueName) -> Token {
        state.withLock { Token(rings: $0.count(of: queue)) }
    }

    /// Wakes who waits for `queue`, or everybody when it is `nil`.
    public func ring(_ queue: QueueName?) {
        let woken = state.withLock { state in
            if let queue {
                state.rings[queue, default: 0] += 1
            } else {
                state.ringsOfAll += 1
            }
            let due = state.waiters.filter { $0.value.after < state.count(of: $0.value.queue) }
            for id in due.keys { state.waiters[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Returns when `queue` has been rung for after `token` was taken.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func wait(for queue: QueueName, after token: Token) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, content): (Result<Void, any Error>?, [CheckedContinuation<Void, any Error>]) =
                    state.withLock { state in
                        if Task.isCancelled { return (.failure(CancellationError()), []) }
                        if state.count(of: queue) > token.rings { return (.success(()), []) }
                        state.waiters[id] = Waiter(queue: queue, after: token.rings, continuation: continuation)
                        return (nil, state.takeWatchers())
                    }
                if let result { continuation.resume(with: result) }
                for watcher in content { watcher.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Returns when `queue` has been rung for after `token`, or when `time` has reached `deadline`.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func wait(
        for queue: QueueName, after token: Token, until deadline: Timestamp, by time: some TimeSource
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.wait(for: queue, after: token) }
            group.addTask { try await time.sleep(until: deadline) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// How many wait now.
    package var waiterCount: Int {
        state.withLock { $0.waiters.count }
    }

    /// Returns once at least `count` wait for a ring. For tests, which go on at this signal.
    package func waitForWaiters(count: Int = 1) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.waiters.count >= count { return .success(()) }
                    state.watchers[id] = Watcher(count: count, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let watcher = state.withLock { $0.watchers.removeValue(forKey: id) }
            watcher?.continuation.resume(throwing: CancellationError())
        }
    }
}
