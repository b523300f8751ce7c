import Synchronization

/// What is said between a worker and one process of a command that stays: a message, and then its answer. A process that says
/// anything else is not listened to any more.
final class Dialogue: Sendable {
    /// Why there is no more to be said. The first reason is the one that counts.
    enum End: Sendable, Hashable {
        /// The process has closed its standard output or its standard input, as it does when it ends.
        case closed
        /// It is not needed any more.
        case retired
        /// It wrote something when there was nothing to answer.
        case unasked
        /// It wrote more than one answer.
        case surplus
        /// It wrote an answer that is longer than what is kept.
        case tooLong
        /// It is to end.
        case stopped(StopRequest.Cause)
    }

    private enum Phase {
        case idle
        /// It has a message. The task that asked waits for the answer, or is about to.
        case asked(CheckedContinuation<Answer?, Never>?)
        case answered(Answer)
        /// With the answer that came before the end, while nobody has asked for it.
        case over(End, Answer?)
    }

    private struct State {
        var phase = Phase.idle
        var reader: AnswerReader
        var answerCount = 0
    }

    private let state: Mutex<State>
    private let onEnd: @Sendable (End) -> Void

    /// - Parameter onEnd: is told the reason, once.
    init(_ framing: Framing, bytesMax: Int, onEnd: @escaping @Sendable (End) -> Void) {
        state = Mutex(State(reader: AnswerReader(framing, bytesMax: bytesMax)))
        self.onEnd = onEnd
    }

    var ending: End? {
        state.withLock { if case .over(let end, _) = $0.phase { end } else { nil } }
    }

    var answerCount: Int { state.withLock { $0.answerCount } }

    /// The process is about to be given a message; `false`: it is over, and none can be given.
    func begin() -> Bool {
        state.withLock { state in
            guard case .idle = state.phase else { return false }
            state.phase = .asked(nil)
            return true
        }
    }

    /// The answer to the message that the process was given; `nil` when it is over before that.
    func answer() async -> Answer? {
        await withCheckedContinuation { continuation in
            let answer: Answer?? = state.withLock { state in
                switch state.phase {
                case .asked:
                    state.phase = .asked(continuation)
                    return .none
                case .answered(let answer):
                    state.phase = .idle
                    return answer
                case .over(let end, let answer):
                    state.phase = .over(end, nil)
                    return .some(answer)
                case .idle:
                    return .some(nil)
                }
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        var waiter: CheckedContinuation<Answer?, Never>?
        var answer: Answer?
        let end = state.withLock { state -> End? in
            switch state.phase {
            case .over: return nil
            case .idle, .answered: return .unasked
            case .asked(let continuation):
                state.reader.append(bytes)
                do {
                    guard let next = try state.reader.next() else { return nil }
                    guard state.reader.isEmpty else { return .surplus }
                    state.answerCount += 1
                    (waiter, answer) = (continuation, next)
                    state.phase = continuation == nil ? .answered(next) : .idle
                    return nil
                } catch {
                    return .tooLong
                }
            }
        }
        if let end { self.end(end) }
        waiter?.resume(returning: answer)
    }

    /// Ends it, unless it is over.
    func end(_ end: End) {
        let (isFirst, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Answer?, Never>?) in
            if case .over = state.phase { return (false, nil) }
            switch state.phase {
            case .asked(let continuation):
                state.phase = .over(end, nil)
                return (true, continuation)
            case .answered(let answer):
                // A process may answer and end before its worker has come to hear it.
                state.phase = .over(end, end.spoilsAnswer ? nil : answer)
            case .idle, .over:
                state.phase = .over(end, nil)
            }
            return (true, nil)
        }
        if isFirst { onEnd(end) }
        waiter?.resume(returning: nil)
    }
}

extension Dialogue.End {
    /// Whether the process said what it should not, so that an answer that came before is not one to rely on.
    fileprivate var spoilsAnswer: Bool {
        switch self {
        case .unasked, .surplus, .tooLong: true
        case .closed, .retired, .stopped: false
        }
    }

    /// Whether the process cannot be left to end by itself.
    var isBreach: Bool { if case .stopped = self { true } else { spoilsAnswer } }
}
