import Dispatch
import Synchronization

/// How far the lines of an input have come, for the moment in which a signal ends the command: the next line may be waited for then, or
/// room in the queue.
final class LinesStanding: Sendable {
    private struct State {
        /// How many lines the queue has answered for, and the number of the last of them.
        var count = 0
        var last = 0
        /// The numbers of the lines of the call that goes on, but for those that are in.
        var left: ArraySlice<Int> = []
        /// Whether the store has these in hand.
        var isOffered = false
        var isEnding = false
        var isOver = false
    }

    private let state = Mutex(State())
    /// Signalled when the store has answered while the command ends.
    private let answered = DispatchSemaphore(value: 0)
    private let answerTime: Duration

    /// - Parameter answerTime: how long the store has to answer, once a signal has come, for the lines that it has in hand.
    init(answerTime: Duration = .seconds(3)) { self.answerTime = answerTime }

    /// A call for `lines` begins.
    func begin(_ lines: [Line]) { state.withLock { $0.left = lines.map(\.number)[...] } }

    /// What is left of them goes to the store.
    ///
    /// - Throws: `CancellationError` when a signal ends the command: nothing more goes in.
    func offer() throws {
        try state.withLock { state in
            if state.isEnding { throw CancellationError() }
            state.isOffered = true
        }
    }

    /// The store has taken the first `count` of them.
    func accept(_ count: Int) {
        answer { state in
            state.last = state.left.prefix(count).last ?? state.last
            state.left = state.left.dropFirst(count)
            state.count += count
        }
    }

    /// The store has taken none of them.
    func refuse() { answer { _ in } }

    private func answer(_ change: (inout State) -> Void) {
        let isAwaited = state.withLock { state in
            change(&state)
            state.isOffered = false
            return state.isEnding
        }
        if isAwaited { answered.signal() }
    }

    /// Has no line offered from now on, and says what is in line, once the store has answered for what it has in hand, or is slow to. Blocks.
    ///
    /// - Returns: `nil` when the command is through, and says so itself.
    func end() -> String? {
        let (isOver, isOffered) = state.withLock { state in
            state.isEnding = true
            return (state.isOver, state.isOffered)
        }
        if isOver { return nil }
        if isOffered { _ = answered.wait(timeout: .now() + answerTime / .seconds(1)) }
        return state.withLock { Self.sentence($0) }
    }

    /// The command is through, and about to say how it ended. Where a signal ends it, that has said so, and this does not return.
    func finish() {
        let isEnding = state.withLock { state in
            state.isOver = !state.isEnding
            return state.isEnding
        }
        guard isEnding else { return }
        // Nobody will answer any more.
        answered.signal()
        DispatchSemaphore(value: 0).wait()
    }

    private static func sentence(_ state: State) -> String {
        let inLine: String? =
            switch state.count {
            case 0: nil
            case 1 where state.last == 1: "the first line is enqueued and stays"
            case state.last: "the first \(state.count) lines are enqueued and stay"
            default: "of the first \(state.last) lines \(state.count), all but the empty ones, are enqueued and stay"
            }
        let beginning = "Stopped by a signal: "
        guard state.isOffered, let first = state.left.first, let last = state.left.last else {
            guard let inLine else { return beginning + "no line is enqueued." }
            return beginning + "\(inLine), and no later one is."
        }
        let lines = first == last ? "line \(first) is" : "lines \(first) to \(last) are"
        guard let inLine else {
            return beginning + "nobody knows whether \(lines) enqueued, and no later one is."
        }
        return beginning + "\(inLine); nobody knows whether \(lines), and no later one is."
    }
}
