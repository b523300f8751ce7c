internal import Logging
internal import PenstockCore

/// A log as a memory that subscribers share: each gets the last values of the log and then what comes, whichever
/// process it comes from. What the replay subject and `shareReplay(_:in:)` are made of, for `for await` as well as for
/// Combine.
package final class LogReplay<Element: Sendable>: Sendable {
    /// Makes what feeds the log, each time that there are subscribers again.
    package typealias Source = @Sendable (LogFeed<Element>) -> LogInflow

    let count: Int
    let log: Queue<Element>
    let hub: LogHub<Element>
    let writer: LogWriter
    private let onMissed: @Sendable (Int) -> Void

    /// - Parameters:
    ///   - count: how many values a newcomer gets first.
    ///   - canEnd: whether the log can end for good, for all processes.
    ///   - source: what feeds the log while there are subscribers, if anything does.
    ///   - onMissed: told how many messages retention forgot before a subscriber came to them.
    ///   - executor: where the log is written, for callers that wait for it on Swift's own threads.
    package init(
        remembering count: Int, in log: Queue<Element>, canEnd: Bool = false,
        onMissed: @escaping @Sendable (Int) -> Void = { _ in }, executor: (any TaskExecutor)? = nil,
        source: Source? = nil
    ) {
        precondition(
            (0...Limits.rowsMax).contains(count), "A replay remembers 0 to \(Limits.rowsMax) elements (rowsMax).")
        self.count = count
        self.log = log
        let ending = canEnd ? CursorName.completion : nil
        let writer = LogWriter(log.name, handle: log.handle, unless: ending, executor: executor)
        self.writer = writer
        var feeding: (@Sendable () -> LogInflow)?
        if let source { feeding = { source(LogFeed(log, writer)) } }
        hub = LogHub(log.access(ending: ending), source: feeding)
        let logger = log.handle.logger
        self.onMissed = { count in
            logger.warning(
                "retention forgot messages before a subscriber came to them",
                metadata: ["queue": "\(log.name)", "count": "\(count)"])
            onMissed(count)
        }
    }

    /// How many subscriptions there are.
    package var subscriberCount: Int { hub.subscriberCount }

    /// Begins a subscription for a consumer that comes for values: after everything that was sent through this
    /// object before, and before everything that is sent through it later.
    func subscribe() -> sending LogCursor<Element> {
        LogCursor(LogSubscription(hub, from: writer.beginning(last: count)), onMissed: onMissed)
    }

    /// Makes a subscription for a subscriber that is told of values: as many as it requests, one at a time. It has its
    /// place with that, and the caller calls ``LogDelivery/begin`` next.
    ///
    /// - Parameters:
    ///   - receive: told of each value.
    ///   - complete: told of the end, and why if it was a failure, after the last value. Not called after a
    ///     cancellation.
    package func subscribe(
        receive: @escaping @Sendable (Element) -> Void, complete: @escaping @Sendable ((any Error)?) -> Void
    ) -> LogDelivery {
        LogDelivery(subscribe(), receive: receive, complete: complete)
    }

    /// The message that a value is in the log.
    ///
    /// - Throws: what the codec throws.
    package func message(of element: Element) throws -> NewMessage {
        try log.codec.message(of: element)
    }

    /// Hands a value's message over, to be appended after everything that was handed over before. The caller bounds how many
    /// wait, and how many bytes of them.
    ///
    /// - Parameter answer: told what came of it. Nothing else is written until it returns.
    /// - Throws: `invalidInput`. Then `answer` is not called.
    package func post(
        _ message: NewMessage, _ answer: @escaping @Sendable (Result<Receipt, any Error>) -> Void
    ) throws {
        try writer.handOver(message, limit: .max, answer)
    }

    /// Ends the log for good, after everything that was handed over before.
    ///
    /// - Parameter answer: told why it could not be ended, if it could not.
    package func postCompletion(_ failure: (any Error)?, _ answer: @escaping @Sendable ((any Error)?) -> Void) {
        writer.inTurn { [log] in
            do {
                try await Self.end(log, failure)
                answer(nil)
            } catch {
                answer(error)
            }
        }
    }

    /// Appends a value, and returns when it is committed.
    package func send(_ element: Element) async throws -> Receipt {
        try await writer.append(log.codec.message(of: element))
    }

    /// Ends the log for good, after everything that was sent before. Only the first end counts, of whichever process.
    package func complete(_ failure: (any Error)?) async throws {
        try await writer.inTurn { [log] in try await Self.end(log, failure) }
    }

    private static func end(_ log: Queue<Element>, _ failure: (any Error)?) async throws {
        let note = failure.map { RecordedFailure($0).note }
        try await log.storage.moveCursor(.completion, of: log.name, .place(after: nil, note: note))
    }
}
