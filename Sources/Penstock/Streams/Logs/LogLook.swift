internal import PenstockCore
internal import Synchronization

/// Where a subscription begins.
struct LogBeginning: Sendable {
    /// Everything up to here is of no interest to it.
    var place: LogPlace
    /// What was read from there on, if anything was.
    var page: LogPage?
    /// The end of the log at that moment.
    var end: LogPlace

    /// At the beginning of a page that was asked for by the number of last messages.
    init(_ page: LogPage) {
        place = LogPlace(
            sequence: page.records.first.map { SequenceNumber($0.sequence.rawValue - 1) } ?? page.end,
            ordinal: page.accepted - (page.count ?? page.records.count))
        self.page = page
        end = LogPlace(sequence: page.end, ordinal: page.accepted)
    }

    /// Behind `cursor`, in a log that `page` shows the end of.
    init(behind cursor: CursorRecord, _ page: LogPage) {
        self.init(page)
        // How many were accepted before that place is not known, and told by the cursor itself.
        place = LogPlace(sequence: cursor.sequence, ordinal: 0)
        self.page = nil
    }

    /// At the end of a log that is nowhere but in memory.
    init(at end: LogPlace) {
        place = end
        self.end = end
        page = LogPage(
            records: [], count: 0, isAtEnd: true, end: end.sequence, accepted: end.ordinal, cursor: nil)
    }
}

/// How a log stood at one moment: asked for at once, and answered when what was asked for before is done.
final class LogLook: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<LogBeginning?, any Error>)
        case answered(Result<LogBeginning, any Error>)
        /// Nobody wants to know any more.
        case over
    }

    private let state = Mutex(State.open)

    /// Gives the answer. The first one counts.
    func answer(_ result: Result<LogBeginning, any Error>) {
        let waiting = state.withLock { state -> CheckedContinuation<LogBeginning?, any Error>? in
            switch state {
            case .open:
                state = .answered(result)
                return nil
            case .awaited(let continuation):
                state = .over
                return continuation
            case .answered, .over:
                return nil
            }
        }
        waiting?.resume(with: result.map { $0 })
    }

    /// The answer, for its only taker; `nil` when it is cancelled.
    func beginning() async throws -> LogBeginning? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<LogBeginning?, any Error>? in
                    switch state {
                    case .open:
                        // Inside the lock, so that a cancellation finds the continuation or is found.
                        if Task.isCancelled { return .success(nil) }
                        state = .awaited(continuation)
                        return nil
                    case .answered(let result):
                        state = .over
                        return result.map { $0 }
                    case .awaited, .over:
                        return .success(nil)
                    }
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Lets the one who waits go without an answer.
    func cancel() {
        let waiting = state.withLock { state -> CheckedContinuation<LogBeginning?, any Error>? in
            defer { state = .over }
            if case .awaited(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume(returning: nil)
    }
}
