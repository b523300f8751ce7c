internal import PenstockCore
internal import Synchronization

/// What lies between the handlers of a worker and the one who claims for them: how many are at work, and what is ready
/// to be handed in.
///
/// Verdicts gather here while a call to the store is under way, and go together with the next one.
final class Workbench: Sendable {
    /// A message whose work has ended, to be settled.
    struct Finished: Sendable {
        var message: ClaimedMessage
        var verdict: Verdict
    }

    private struct State {
        var busyCount = 0
        var finished: [Finished] = []
        /// Whether something has changed since it was last looked at.
        var isTouched = false
        var waiter: CheckedContinuation<Void, Never>?

        mutating func touch() -> CheckedContinuation<Void, Never>? {
            isTouched = true
            return waiter.take()
        }
    }

    private let state = Mutex(State())

    /// So many handlers begin.
    func begin(_ count: Int) {
        state.withLock { $0.busyCount += count }
    }

    /// A message's work has ended, though its handler may still be there.
    func handIn(_ finished: Finished) {
        let waiter = state.withLock { state in
            state.finished.append(finished)
            return state.touch()
        }
        waiter?.resume()
    }

    /// A handler has returned, and may have something to hand in.
    func leave(_ finished: Finished? = nil) {
        let waiter = state.withLock { state in
            state.busyCount -= 1
            if let finished { state.finished.append(finished) }
            return state.touch()
        }
        waiter?.resume()
    }

    /// What was handed in, and how many handlers are still at work.
    func take() -> (finished: [Finished], busyCount: Int) {
        state.withLock { state in
            state.isTouched = false
            defer { state.finished = [] }
            return (state.finished, state.busyCount)
        }
    }

    /// Returns when something was handed in or a handler has left since the last ``take()``. One task may wait.
    ///
    /// A task that is cancelled returns at once, unless it is told to wait all the same: handlers do leave.
    func wait(evenIfCancelled: Bool = false) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayGo = state.withLock { state in
                    if state.isTouched || !evenIfCancelled && Task.isCancelled { return true }
                    state.waiter = continuation
                    return false
                }
                if mayGo { continuation.resume() }
            }
        } onCancel: {
            if !evenIfCancelled { state.withLock { $0.waiter.take() }?.resume() }
        }
    }
}
