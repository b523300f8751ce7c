import Synchronization

/// Counts what happens, so that a test can wait until it has happened often enough.
final class Tally: Sendable {
    private struct State {
        var count = 0
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeContent() -> [CheckedContinuation<Void, Never>] {
            let content = waiters.filter { $0.count <= count }
            waiters.removeAll { $0.count <= count }
            return content.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.count } }

    func add(_ number: Int = 1) {
        let content = state.withLock { state in
            state.count += number
            return state.takeContent()
        }
        for continuation in content { continuation.resume() }
    }

    /// Returns once the count has reached `count`.
    func reach(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let content = state.withLock { state in
                state.waiters.append((count, continuation))
                return state.takeContent()
            }
            for continuation in content { continuation.resume() }
        }
    }
}
