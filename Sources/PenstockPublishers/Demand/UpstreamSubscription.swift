internal import Foundation

/// The subscription to upstream, as a value: it is called by one thread at a time.
///
/// The port's `Just` and its like bear nothing else. While a thread asks, another one that would ask leaves that to it,
/// and one that would cancel does, too: upstream is cancelled by the thread that asks, with the next value or when the
/// call has returned. The thread that asks may cancel at any time, as a subscriber does that has enough.
@usableFromInline
struct UpstreamSubscription {
    @usableFromInline
    enum Phase {
        /// It has not come yet.
        case expected
        case open(any Subscription)
        case asked(any Subscription, by: ThreadName)
        /// Another thread cancelled while this one asked.
        case toCancel(any Subscription, by: ThreadName)
        case over
    }

    @usableFromInline var phase = Phase.expected
    /// What it is still to be asked for.
    @usableFromInline var toAsk = Subscribers.Demand.none

    @inlinable init() {}

    /// Whether upstream may give values, and end.
    @inlinable var isOpen: Bool {
        switch phase {
        case .open, .asked: true
        case .expected, .toCancel, .over: false
        }
    }

    /// It has come. Returns whether it is the first one; another is to be cancelled.
    @usableFromInline mutating func begin(_ subscription: any Subscription) -> Bool {
        guard case .expected = phase else { return false }
        phase = .open(subscription)
        return true
    }

    /// The thread would ask for so much more. Returns whom, and for how much; it calls ``asked()`` afterwards.
    @usableFromInline mutating func ask(_ more: Subscribers.Demand) -> (any Subscription, Subscribers.Demand)? {
        toAsk += more
        guard toAsk > .none, case .open(let subscription) = phase else { return nil }
        phase = .asked(subscription, by: .current)
        defer { toAsk = .none }
        return (subscription, toAsk)
    }

    /// The thread has asked. Returns what it is to cancel now.
    @usableFromInline mutating func asked() -> (any Subscription)? {
        switch phase {
        case .asked(let subscription, _):
            phase = .open(subscription)
            return nil
        case .toCancel(let subscription, _):
            phase = .over
            return subscription
        case .expected, .open, .over:
            return nil
        }
    }

    /// Nobody wants more of upstream. Returns what the caller is to cancel, unless another thread does.
    @usableFromInline mutating func cancel() -> (any Subscription)? {
        switch phase {
        case .expected, .over:
            phase = .over
            return nil
        case .open(let subscription):
            phase = .over
            return subscription
        case .asked(let subscription, let thread), .toCancel(let subscription, let thread):
            let isMine = thread == .current
            phase = isMine ? .over : .toCancel(subscription, by: thread)
            return isMine ? subscription : nil
        }
    }

    /// Returns what this thread is to cancel because another one could not.
    @usableFromInline mutating func cancelForAnother() -> (any Subscription)? {
        guard case .toCancel(let subscription, let thread) = phase, thread == .current else { return nil }
        phase = .over
        return subscription
    }

    /// Upstream has ended. Returns what it was, for callers that let it go where no lock is held.
    @usableFromInline mutating func end() -> Phase {
        defer { phase = .over }
        return phase
    }
}

/// What a conduit keeps behind its lock, the subscription to upstream among it.
@usableFromInline
protocol UpstreamHolder {
    var upstream: UpstreamSubscription { get set }
}

extension Guarded where State: UpstreamHolder {
    /// Asks upstream for so much more, and for what other threads leave to this one meanwhile.
    @inlinable func ask(_ more: Subscribers.Demand) {
        var more = more
        while let (upstream, demand) = withLock({ $0.upstream.ask(more) }) {
            more = .none
            upstream.request(demand)
            withLock { $0.upstream.asked() }?.cancel()
        }
    }

    /// Cancels upstream, or leaves that to the thread that asks it at this moment.
    @inlinable func cancelUpstream() {
        withLock { $0.upstream.cancel() }?.cancel()
    }

    /// Cancels upstream if another thread has left that to this one, which asks: with the value that came next, as it may be long
    /// until the call returns.
    @inlinable func cancelForAnother() {
        withLock { $0.upstream.cancelForAnother() }?.cancel()
    }
}

/// Tells one thread from another, while both run.
@usableFromInline
struct ThreadName: Hashable {
    private let number: UInt

    static var current: ThreadName {
        #if canImport(Darwin)
            ThreadName(number: UInt(bitPattern: pthread_self()))
        #else
            ThreadName(number: UInt(pthread_self()))
        #endif
    }
}
