internal import PenstockCore
internal import Synchronization

/// One subscription to a log: where it begins, and whether it is over. Letting it go ends it.
final class LogSubscription<Value: Sendable>: Sendable {
    private enum State {
        /// The place is still being looked for.
        case beginning
        case joined(LogHub<Value>.Machine.Name)
        case over
    }

    let hub: LogHub<Value>
    private let beginning: Waiter<LogBeginning>
    private let state = Mutex(State.beginning)
    private let hasEnded = Atomic(false)
    private let isTaken = Atomic(false)

    /// - Parameter beginning: how the log stood when the subscription began.
    init(_ hub: LogHub<Value>, from beginning: Waiter<LogBeginning>) {
        self.hub = hub
        self.beginning = beginning
    }

    deinit {
        cancel()
    }

    /// Looked at before each value, so without the lock.
    var isOver: Bool { hasEnded.load(ordering: .acquiring) }

    /// Ends the subscription, from whatever task. A task that waits for a value is told that none comes.
    func cancel() {
        hasEnded.store(true, ordering: .releasing)
        let before = state.withLock { state in
            defer { state = .over }
            return state
        }
        beginning.answer(.failure(CancellationError()))
        if case .joined(let name) = before { hub.leave(name) }
    }

    /// Whether nobody has taken what comes. From now on the caller does.
    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }

    /// How the log stood when the subscription began; `nil` when it is over.
    func begin() async throws -> LogBeginning? {
        do {
            let beginning = try await beginning.wait()
            return isOver ? nil : beginning
        } catch is CancellationError {
            return nil
        }
    }

    /// Takes its place among the subscribers, unless it has; what they share begins to run with the first one, before this returns.
    ///
    /// - Parameter place: where the log stood; `nil`: that is not known yet.
    func join(at place: LogPlace?) {
        let begin = state.withLock { state -> (@Sendable () -> Void)? in
            guard case .beginning = state else { return nil }
            // Inside the lock, so that a thread that cancels next finds the name.
            let (name, begin) = hub.join(at: place)
            state = .joined(name)
            return begin
        }
        begin?()
    }

    var name: LogHub<Value>.Machine.Name? {
        state.withLock { if case .joined(let name) = $0 { name } else { nil } }
    }
}
