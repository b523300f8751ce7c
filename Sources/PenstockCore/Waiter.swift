internal import Synchronization

/// One task's wait for an answer that comes once, from whatever thread, before or after the task begins to wait.
///
/// Whoever can give the answer keeps the waiter behind its own lock, and answers when it has let go of that.
package final class Waiter<Answer: Sendable>: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<Answer, any Error>)
        case answered(Result<Answer, any Error>)
        /// The task has its answer.
        case over
    }

    private let state = Mutex(State.open)

    /// Makes a waiter that has no answer.
    package init() {}

    /// Whether no answer is wanted any more: there is one, or the task was cancelled.
    package var isOver: Bool {
        state.withLock { state in
            switch state {
            case .open, .waiting: false
            case .answered, .over: true
            }
        }
    }

    /// Gives the answer. The first one counts.
    package func answer(_ result: Result<Answer, any Error>) {
        let waiting = state.withLock { state -> CheckedContinuation<Answer, any Error>? in
            switch state {
            case .open:
                state = .answered(result)
                return nil
            case .waiting(let continuation):
                state = .over
                return continuation
            case .answered, .over:
                return nil
            }
        }
        waiting?.resume(with: result)
    }

    /// Returns the answer, to one task.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before there is one; what the answer is, if that is an
    ///   error.
    package func wait() async throws -> Answer {
        try await withTaskCancellationHandler {
            try await waitThoughCancelled()
        } onCancel: {
            answer(.failure(CancellationError()))
        }
    }

    /// Returns the answer, to one task. Cancelling the task does nothing.
    package func waitThoughCancelled() async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state -> Result<Answer, any Error>? in
                switch state {
                case .open:
                    state = .waiting(continuation)
                    return nil
                case .answered(let result):
                    state = .over
                    return result
                case .waiting, .over:
                    return .failure(CancellationError())
                }
            }
            if let result { continuation.resume(with: result) }
        }
    }
}

extension Waiter where Answer == Void {
    /// Lets the task go on.
    package func resume() {
        answer(.success(()))
    }
}
