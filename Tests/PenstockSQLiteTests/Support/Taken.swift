import Synchronization

/// Counts what was taken, and says when it is so many.
final class Taken: Sendable {
    private let state = Mutex((count: 0, waiter: (Int, CheckedContinuation<Void, Never>)?.none))

    var count: Int { state.withLock(\.count) }

    func add() {
        let waiter = state.withLock { state in
            state.count += 1
            if let waiter = state.waiter, waiter.0 <= state.count {
                state.waiter = nil
                return Optional(waiter.1)
            }
            return nil
        }
        waiter?.resume()
    }

    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.count < count { state.waiter = (count, continuation) }
                return state.count >= count
            }
            if isThere { continuation.resume() }
        }
    }
}
