internal import PenstockCore
internal import Synchronization

/// Where a source puts its values, so that they come into a log in its order: many at a time, and a bounded number that
/// is not committed yet.
package final class LogFeed<Element: Sendable>: Sendable {
    /// How many values may be under way.
    package static var underWayMax: Int { 256 }

    private enum Wait {
        case forRoom
        case forAll
        case forFailure
    }

    private struct State {
        var underWay = 0
        var failure: (any Error)?
        var waiting: [Int: (wait: Wait, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var namesGiven = 0

        /// What somebody who waits is to be told, if anything.
        func answer(to wait: Wait) -> Result<Void, any Error>? {
            if let failure { return .failure(failure) }
            return switch wait {
            case .forRoom: underWay < underWayMax ? .success(()) : nil
            case .forAll: underWay == 0 ? .success(()) : nil
            case .forFailure: nil
            }
        }
    }

    private let codec: any PayloadCodec<Element>
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

    /// Hands a value over at once. The caller sees to it that no more than ``underWayMax`` are under way.
    ///
    /// - Parameter committed: called when the value is in the log, and not when it could not be written.
    /// - Throws: as ``take(_:)``.
    package func stage(_ element: Element, committed: @escaping @Sendable () -> Void = {}) throws {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        state.withLock { $0.underWay += 1 }
        do {
            let message = NewMessage(payload: try codec.encode(element))
            try writer.handOver(message, limit: .max) { result in
                switch result {
                case .success:
                    self.settle(failure: nil)
                    committed()
                case .failure(let error): self.settle(failure: error)
                }
            }
        } catch {
            settle(failure: error)
            throw error
        }
    }

    /// Returns when everything that was handed over is committed.
    ///
    /// - Throws: why it could not be written.
    package func finish() async throws {
        try await wait(.forAll)
    }

    /// Returns the first reason why a value could not be written, once there is one; `nil` when the task is cancelled.
    package func failure() async -> (any Error)? {
        do {
            try await wait(.forFailure)
            return nil
        } catch {
            return error is CancellationError ? nil : error
        }
    }

    private func settle(failure: (any Error)?) {
        let answers = state.withLock { state in
            state.underWay -= 1
            if state.failure == nil { state.failure = failure }
            var answers: [(CheckedContinuation<Void, any Error>, Result<Void, any Error>)] = []
            for (name, waiter) in state.waiting {
                guard let answer = state.answer(to: waiter.wait) else { continue }
                answers.append((waiter.continuation, answer))
                state.waiting[name] = nil
            }
            return answers
        }
        for (continuation, answer) in answers { continuation.resume(with: answer) }
    }

    private func wait(_ wait: Wait) async throws {
        let name = state.withLock { state in
            state.namesGiven += 1
            return state.namesGiven
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer = state.withLock { state -> Result<Void, any Error>? in
                    if let answer = state.answer(to: wait) { return answer }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiting[name] = (wait, continuation)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiting.removeValue(forKey: name) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }
}
