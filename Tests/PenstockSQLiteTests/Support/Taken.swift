import Synchronization

/// Counts what was taken, and says when it is so many.
final class Taken: Sendable {
    private let state = Mutex((count: 0, waiters: [(Int, CheckedContinuation<Void, Never>)]()))

    var count: Int { state.withLock(\.count) }

    /// - Returns: how many that makes.
    @discardableResult
    func add() -> Int {
        let (count, woken) = state.withLock { state in
            state.count += 1
            let count = state.count
            let woken = state.waiters.filter { $0.0 <= count }
            state.waiters.removeAll { $0.0 <= count }
            return (count, woken)
        }
        for (_, waiter) in woken { waiter.resume() }
        return count
    }

    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.count < count { state.waiters.append((count, continuation)) }
                return state.count >= count
            }
            if isThere { continuation.resume() }
        }
    }
}
