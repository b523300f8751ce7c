package import PenstockCore
import Synchronization

/// A store that tells an executor when a call is under way elsewhere, and that can be cut off: after so many calls nothing
/// takes effect any more, as when a process dies.
package final class WatchedStore: ForwardingStore {
    package let base: any MessageStore
    private let executor: IdleExecutor
    /// How many more calls take effect; `nil`: all. Less than 0 once a call came that took none.
    private let callsLeft: Mutex<Int?>
    /// How many calls took effect.
    package let calls = Tally()
    private let bell: Wakeups?

    /// Watches the calls of `base`.
    ///
    /// - Parameter ringsItself: whether it has a bell of its own, rung where the call is made. The store's own may ring at
    ///   any time, from any thread, and the executor would not know that somebody has been woken.
    package init(
        _ base: any MessageStore, _ executor: IdleExecutor, cutAfter callsLeft: Int? = nil, ringsItself: Bool
    ) {
        self.base = base
        self.executor = executor
        self.callsLeft = Mutex(callsLeft)
        bell = ringsItself ? Wakeups() : nil
    }

    package var changes: Wakeups { bell ?? base.changes }

    /// Whether a call came after the cut.
    package var isCut: Bool { callsLeft.withLock { $0 ?? 0 < 0 } }

    /// Lets so many more calls take effect.
    package func cut(after count: Int) {
        callsLeft.withLock { $0 = count }
    }

    /// Carries out operations in one call, as the store underneath does.
    package func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
        try await perform(operations, awayFrom: executor, flushed: flushed)
    }

    package func pass<Answer: Sendable>(
        _ call: StoreCall, _ body: @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let mayPass = callsLeft.withLock { left in
            guard let count = left else { return true }
            left = max(-1, count - 1)
            return count > 0
        }
        guard mayPass else { throw PenstockError(.closed, "The store is cut off because a test wants it to be.") }
        calls.add()
        executor.leave()
        defer { executor.comeBack() }
        let answer = try await body()
        if call == .enqueue || call == .settle { bell?.ring(nil) }
        return answer
    }
}
