public import PenstockStreams

extension Publishers {
    /// A publisher that subscribes to another one once for all its subscribers, and replays to newcomers.
    /// Made by `shareReplay(_:backlog:onDrop:)`, whose description holds for it.
    public final class ShareReplay<Upstream: Publisher>: Publisher {
        /// What upstream publishes.
        public typealias Output = Upstream.Output
        /// How upstream fails, and a subscriber that fell behind.
        public typealias Failure = Upstream.Failure

        @usableFromInline let subscribe: (any Subscriber<Output, Failure>) -> Void
        @usableFromInline let countSubscribers: () -> Int

        @inlinable init(
            _ upstream: Upstream, bufferSize: Int, backlog: ReplayBacklog<Failure>, onDrop: @escaping (Output) -> Void
        ) {
            let hub = ReplayHub(bufferSize: bufferSize, backlog: backlog, onDrop: onDrop)
            subscribe = { hub.subscribe(ReplayListener($0), to: upstream) }
            countSubscribers = { hub.subscriberCount }
        }

        /// How many subscriptions there are.
        public var subscriberCount: Int { countSubscribers() }

        /// Subscribes: what is remembered now and what comes from now on goes to the subscriber.
        public func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == Output, Downstream.Failure == Failure {
            subscribe(subscriber)
        }
    }
}

extension ReplayHub {
    /// Greets a subscriber. The first one begins the reading of upstream.
    @inlinable func subscribe(
        _ listener: ReplayListener<Output, Failure>, to upstream: some Publisher<Output, Failure>
    ) {
        let newReader = ReplayReader<Output, Failure>(aheadMax: waitsAt, pass: pass, complete: complete)
        let (name, isFirst) = state.withLock { state in
            let name = state.core.subscribe(asksInAdvance: true)
            let isFirst = state.reader == nil && !state.core.isEnded
            if isFirst { state.reader = newReader }
            return (name, isFirst)
        }
        greet(listener, name)
        // Only now, so that the first value finds what the subscriber asked for.
        if isFirst { upstream.subscribe(newReader) }
    }

    /// Sends on what upstream gave. Returns whether there was room. Of a reading that another one has taken the place of,
    /// nothing counts any more.
    @inlinable func pass(_ value: Output, of reader: ReplayReader<Output, Failure>) -> Bool {
        let sending = perform { state in
            state.reader === reader ? state.core.send(value, .reader(reader)) : .refused
        }
        if case .sent = sending { return true }
        return false
    }

    @inlinable func complete(_ completion: Subscribers.Completion<Failure>, of reader: ReplayReader<Output, Failure>) {
        perform { state in
            if state.reader === reader { state.core.complete(Completion(completion)) }
        }
    }
}

extension Publisher {
    /// Subscribes upstream once for all subscribers, and gives each newcomer the last `count` values first.
    ///
    /// - Subscribes upstream when the first subscriber comes, and cancels it when the last one leaves. What is
    ///   remembered stays. The next subscriber gets it, and upstream is subscribed anew.
    /// - Gives a newcomer what is remembered, and then what comes from its subscription on: in upstream's order, and
    ///   none twice.
    /// - Gives each subscriber exactly as many values as it asks for, and keeps the others for it, within the bound
    ///   that `backlog` names. With `suspendSender` upstream is asked for one backlog ahead and for one more with each
    ///   value that all have room for; otherwise for everything.
    /// - Gives everybody upstream's completion after the values before it. A later newcomer gets what is remembered,
    ///   and that same completion.
    ///
    /// ```swift
    /// let shared = prices.shareReplay(1)
    /// ```
    ///
    /// - Parameters:
    ///   - count: how many values are remembered for newcomers, 0 or more.
    ///   - backlog: how many values may wait for a slow subscriber, and what happens then.
    ///   - onDrop: told of each value that a subscriber lost, once for each of these.
    @inlinable public func shareReplay(
        _ count: Int,
        backlog: ReplayBacklog<Failure> = .suspendSender(at: 256),
        onDrop: @escaping (Output) -> Void = { _ in }
    ) -> Publishers.ShareReplay<Self> {
        Publishers.ShareReplay(self, bufferSize: count, backlog: backlog, onDrop: onDrop)
    }
}
