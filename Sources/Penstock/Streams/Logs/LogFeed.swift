internal import PenstockCore
internal import Synchronization

/// Where a source puts its values, so that they come into a log in its order: many at a time, and a bounded number that
/// is not committed yet.
package final class LogFeed<Element: Sendable>: Sendable {
    /// How many values may be under way. ``take(_:)`` waits as well while they have `Limits.stagedBytesMax` bytes.
    package static var underWayMax: Int { 256 }

    private enum Wait {
        case forRoom
        case forAll
        case forFailure
    }

    private struct State {
        var underWay = 0
        var bytes = 0
        var failure: (any Error)?
        var waiting: [(wait: Wait, waiter: Waiter<Void>)] = []

        /// What a caller that waits is to be told, if anything.
        func answer(to wait: Wait) -> Result<Void, any Error>? {
            if let failure { return .failure(failure) }
            return switch wait {
            case .forRoom: underWay < underWayMax && bytes < Limits.stagedBytesMax ? .success(()) : nil
            case .forAll: underWay == 0 ? .success(()) : nil
            case .forFailure: nil
            }
        }
    }

    private let codec: QueueCodec<Element>
    private let writer: LogWriter
    private let state = Mutex(State())

    init(_ log: Queue<Element>, _ writer: LogWriter) {
        codec = log.codec
        self.writer = writer
    }

    /// Hands a value over, and suspends before that while too many are under way.
    ///
    /// - Throws: why an earlier value or this one could not be written. Then none that comes later is.
    package func take(_ element: Element) async throws {
        try await wait(.forRoom)
        try stage(element)
    }

    /// Hands a value over at once, however large it is. The caller sees to it that no more than ``underWayMax`` are under way.
    ///
    /// - Parameter committed: called when the value is in the log, and not when it could not be written.
    /// - Throws: as ``take(_:)``.
    package func stage(_ element: Element, committed: @escaping @Sendable () -> Void = {}) throws {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        state.withLock { $0.underWay += 1 }
        var bytes = 0
        do {
            let message = try codec.message(of: element)
            bytes = message.payload.count
            state.withLock { $0.bytes += message.payload.count }
            try writer.handOver(message, limit: .max) { [bytes] result in
                switch result {
                case .success:
                    self.settle(bytes, failure: nil)
                    committed()
                case .failure(let error): self.settle(bytes, failure: error)
                }
            }
        } catch {
            settle(bytes, failure: error)
            throw error
        }
    }

    /// Runs `read`, which reads the source to its end. A value that cannot be written ends that as well, also while the source has
    /// nothing to give: `read` is cancelled then.
    package func run(_ read: @escaping @Sendable () async -> LogEnding) async -> LogEnding {
        await withTaskGroup(of: LogEnding?.self) { group in
            group.addTask { await read() }
            group.addTask { await self.breakdown() }
            defer { group.cancelAll() }
            let first: LogEnding? = await group.next() ?? nil
            return first ?? .finished
        }
    }

    /// Returns when everything that was handed over is committed: `ending`, or why it could not be written.
    package func finish(_ ending: LogEnding) async -> LogEnding {
        do {
            try await wait(.forAll)
            return ending
        } catch {
            return .broken(error)
        }
    }

    /// Returns when everything is done that was asked of the log before, by whomever in this process.
    package func flush() async {
        await writer.flush()
    }

    /// Returns once a value could not be written; `nil` when the task is cancelled.
    private func breakdown() async -> LogEnding? {
        do {
            try await wait(.forFailure)
            return nil
        } catch {
            return error is CancellationError ? nil : .broken(error)
        }
    }

    private func settle(_ bytes: Int, failure: (any Error)?) {
        let answers = state.withLock { state in
            state.underWay -= 1
            state.bytes -= bytes
            if state.failure == nil { state.failure = failure }
            let asked = state.waiting.map { (wait: $0.wait, waiter: $0.waiter, answer: state.answer(to: $0.wait)) }
            state.waiting = asked.filter { $0.answer == nil && !$0.waiter.isOver }.map { ($0.wait, $0.waiter) }
            return asked
        }
        for case (_, let waiter, let answer?) in answers { waiter.answer(answer) }
    }

    private func wait(_ wait: Wait) async throws {
        let waiter = Waiter<Void>()
        let answer = state.withLock { state in
            let answer = state.answer(to: wait)
            if answer == nil { state.waiting.append((wait, waiter)) }
            return answer
        }
        if let answer { return try answer.get() }
        try await waiter.wait()
    }
}
