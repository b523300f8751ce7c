public import Penstock

extension Publishers {
    /// A publisher that subscribes to another one once for all its subscribers, into a log.
    /// Made by `shareReplay(_:in:)`, whose description holds for it.
    public final class LogShareReplay<Upstream: Publisher>: Publisher where Upstream.Output: Sendable {
        /// What upstream publishes.
        public typealias Output = Upstream.Output
        /// How upstream fails, and what the store throws.
        public typealias Failure = any Error

        private let replay: LogReplay<Output>

        init(_ replay: LogReplay<Output>) {
            self.replay = replay
        }

        /// How many subscriptions there are.
        public var subscriberCount: Int { replay.subscriberCount }

        /// Subscribes: the last values of the log as it is now, and what comes from now on, go to the subscriber.
        public func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == Output, Downstream.Failure == Failure {
            LogConduit.subscribe(AnySubscriber(subscriber), to: replay)
        }
    }
}

extension Publisher where Output: Sendable {
    /// Subscribes upstream once for all subscribers, into a log, and gives each newcomer the last `count` values of the
    /// log first.
    ///
    /// - A value reaches subscribers when it is committed, which may be a moment before it is on the disk: after a power
    ///   cut the log may lack the last ones that they had. They come in the order of the log, and none twice. What is in the
    ///   log of an earlier process is replayed as well, and so is what another process puts there meanwhile.
    /// - Subscribes upstream when the first subscriber comes, before its `subscribe` returns, and cancels it when the last
    ///   one leaves. The next subscriber gets the last values, and upstream is subscribed anew.
    /// - Gives each subscriber exactly as many values as it asks for. Each has its own place in the log: a slow one
    ///   loses nothing, holds nobody back, and costs a page of memory. Upstream is asked for as much as the log takes.
    /// - How long the log keeps its messages is its queue's retention. A subscriber that is slower than that goes on
    ///   with what is left, and `onMissed` and the store's logger are told.
    /// - Gives everybody upstream's completion after the values before it. A later newcomer of the same publisher gets
    ///   the last values, and that same completion.
    /// - When the log cannot be read or written, every subscriber gets that error, upstream is cancelled, and the next
    ///   subscriber begins anew.
    ///
    /// ```swift
    /// let shared = prices.shareReplay(1, in: log)
    /// ```
    ///
    /// - Parameters:
    ///   - count: how many values a newcomer gets first, 0 to `Limits.rowsMax`.
    ///   - log: the queue whose log holds the values. They are done as they are accepted; nobody works them.
    ///   - onMissed: told how many messages retention forgot before a subscriber came to them.
    public func shareReplay(
        _ count: Int, in log: Queue<Output>, onMissed: @escaping @Sendable (Int) -> Void = { _ in }
    ) -> Publishers.LogShareReplay<Self> {
        let upstream = LogUpstream<Output, Failure> { self.subscribe($0) }
        return Publishers.LogShareReplay(
            LogReplay(remembering: count, in: log, onMissed: onMissed) { upstream.inflow(into: $0) })
    }
}
