/// A sequence that reads another one once for all its subscribers, into a log. Made by `shareReplay(_:in:onMissed:)`,
/// whose description holds for it. Copies share.
public struct LogShareReplaySequence<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Base.Element: Sendable {
    /// What the other sequence gives.
    public typealias Element = Base.Element
    /// The other sequence's failure, or what the store throws.
    public typealias Failure = any Error

    private let replay: LogReplay<Base.Element>

    init(_ replay: LogReplay<Base.Element>) {
        self.replay = replay
    }

    /// How many subscriptions there are, of those that have asked for an element.
    public var subscriberCount: Int { replay.subscriberCount }

    /// Subscribes: the last elements of the log as it is now, and what comes from now on, come out of the iterator.
    /// Upstream is asked for nothing before the first `next()` of a subscriber. The one whose cancellation ends upstream is
    /// told so only when upstream's task has ended. The iterator throws upstream's failure, after the elements before it.
    public func makeAsyncIterator() -> LogReplayIterator<Element> {
        LogReplayIterator(cursor: replay.subscribe())
    }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Reads the sequence once for all subscribers, into a log, and gives each newcomer the last `count` elements of the
    /// log first.
    ///
    /// - An element reaches subscribers when it is committed, which may be a moment before it is on the disk: after a power
    ///   cut the log may lack the last ones that they had. They come in the order of the log, and none
    ///   twice. What is in the log of an earlier process is replayed as well, and so is what another process
    ///   puts there meanwhile: each process reads its own upstream, and all of them have what comes of it.
    /// - Begins to read upstream when the first subscriber asks for an element, and cancels it when the last one leaves:
    ///   by cancellation, or by letting its iterator go. The next subscriber gets the last elements, and upstream is
    ///   read anew.
    /// - Each subscriber has its own place in the log. A slow one loses nothing, holds nobody back, and costs a page of
    ///   memory. Those who keep up share one reading of the log. Upstream is read as fast as the log takes it.
    /// - How long the log keeps its messages is its queue's retention. A subscriber that is slower than that goes on with
    ///   what is left, and `onMissed` and the store's logger are told.
    /// - Gives everybody upstream's finish or failure after the elements before it. A later newcomer of the same sequence
    ///   gets the last elements, and that same end; another process reads its own upstream.
    /// - When the log cannot be read or written, every subscriber gets that error, upstream is cancelled, and the next
    ///   subscriber begins anew.
    ///
    /// ```swift
    /// let shared = prices.shareReplay(1, in: log)
    /// ```
    ///
    /// - Parameters:
    ///   - count: how many elements a newcomer gets first, 0 to `Limits.rowsMax`.
    ///   - log: the queue whose log holds the elements. They are done as they are accepted; nobody works them.
    ///   - onMissed: told how many messages retention forgot before a subscriber came to them.
    public func shareReplay(
        _ count: Int, in log: Queue<Element>, onMissed: @escaping @Sendable (Int) -> Void = { _ in }
    ) -> LogShareReplaySequence<Self> {
        LogShareReplaySequence(
            LogReplay(remembering: count, in: log, onMissed: onMissed) { feed in
                LogInflow { await SequenceSource.run(self, into: feed) }
            })
    }
}
