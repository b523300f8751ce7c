internal import Synchronization

/// Opens once, and stays open.
package final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [Waiter<Void>] = []
    }

    private let state = Mutex(State())

    /// Makes one that is closed.
    package init() {}

    package var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Whether somebody waits for it. For tests, which go on at this signal.
    package var isAwaited: Bool { state.withLock { state in state.waiters.contains { !$0.isOver } } }

    /// Opens it, and lets everything go on that waits.
    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns once the latch is open.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    package func wait() async throws {
        try await newWaiter()?.wait()
    }

    /// Returns once the latch is open. Cancelling the task does nothing.
    package func waitThoughCancelled() async {
        // It fails only by cancellation.
        try? await newWaiter()?.waitThoughCancelled()
    }

    private func newWaiter() -> Waiter<Void>? {
        state.withLock { state in
            if state.isOpen { return nil }
            let waiter = Waiter<Void>()
            state.waiters.removeAll(where: \.isOver)
            state.waiters.append(waiter)
            return waiter
        }
    }
}
