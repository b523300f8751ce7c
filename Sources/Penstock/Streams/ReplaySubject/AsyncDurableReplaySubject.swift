public import PenstockCore

/// A replay subject whose memory is a log: elements are sent by hand, by any process, and every subscriber in every
/// process gets the last ones, those that are sent from then on, and the end.
///
/// - A new subscriber gets the last elements of the log, then what is sent, then the end: in the order of the log, and
///   none twice. An earlier process's elements are among them, and so is its end: a log that has ended stays so.
/// - A subscription begins with `makeAsyncIterator()`: after everything that was sent through this subject before, and
///   before everything that is sent through it later. Of what others send, it begins where the log ends when the store has
///   looked, a moment later. It ends with the end of the subject, with cancellation, or when the iterator is let go.
/// - Each subscriber has its own place in the log. A slow one loses nothing, holds nobody back, and costs a page of
///   memory. Those who keep up share one reading.
/// - How long elements are kept is the retention of the log's queue. A subscriber that is slower than that goes on with
///   what is left, and `onMissed` and the store's logger are told.
///
/// Unlike ``/PenstockStreams/AsyncReplaySubject`` it does not end when it is let go: others may send.
///
/// ```swift
/// let prices = AsyncDurableReplaySubject(bufferSize: 3, in: try await store.queue("prices", of: Double.self))
/// try await prices.send(9.5)
/// for try await price in prices { print(price) }
/// ```
public final class AsyncDurableReplaySubject<Element: Sendable>: AsyncSequence, Sendable {
    /// ``RecordedFailure`` when the subject was ended with a failure, or what the store throws.
    public typealias Failure = any Error

    /// What it is made of, for other faces than this one.
    package let replay: LogReplay<Element>

    /// Makes a subject of a log. Others on the same log, in this process or another, are the same subject.
    ///
    /// - Parameters:
    ///   - bufferSize: how many elements a newcomer gets first, 0 to `Limits.rowsMax`.
    ///   - log: the queue whose log holds the elements. They are done as they are accepted; nobody works them.
    ///   - onMissed: told how many messages retention forgot before a subscriber came to them.
    public init(
        bufferSize: Int, in log: Queue<Element>, onMissed: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        replay = LogReplay(remembering: bufferSize, in: log, canEnd: true, onMissed: onMissed)
    }

    /// How many subscriptions there are, of those that have asked for an element.
    public var subscriberCount: Int { replay.subscriberCount }

    /// Sends an element, and returns when it is committed, with the durability of the store. Elements that one caller
    /// sends one after the other have that order in the log.
    ///
    /// - Throws: what the codec throws; `PenstockError` with code `illegalTransition` when the subject has ended, in
    ///   whichever process; what else the store throws. `CancellationError` when the task is cancelled before the writing
    ///   began. After each of these nobody gets the element, but after `outcomeUnknown` nobody knows: it may be on record, where every
    ///   subscriber gets it, and would get it again if it were sent again.
    @discardableResult
    public func send(_ element: Element) async throws -> Receipt {
        try await replay.send(element)
    }

    /// Ends the subject for good, in every process, after everything that was sent through it before. Returns when that
    /// is on record. Only the first end counts.
    ///
    /// - Throws: what the store throws. Then it has not ended, but after `outcomeUnknown` nobody knows; the call can be made again.
    public func finish() async throws {
        try await replay.complete(nil)
    }

    /// Ends the subject for good with a failure, as ``finish()`` does. Subscribers get a ``RecordedFailure``, which says
    /// what `failure` says.
    ///
    /// - Throws: as ``finish()``.
    public func fail(_ failure: any Error) async throws {
        try await replay.complete(failure)
    }

    /// Subscribes: the last elements of the log as it is now, and what is sent from now on, come out of the iterator. It
    /// throws ``RecordedFailure``, after the elements before it.
    public func makeAsyncIterator() -> LogReplayIterator<Element> {
        LogReplayIterator(cursor: replay.subscribe())
    }
}
