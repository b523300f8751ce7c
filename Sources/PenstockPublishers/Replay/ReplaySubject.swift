public import Penstock
public import PenstockStreams

/// A subject that remembers the last values that were sent by it, and its completion.
///
/// - A new subscriber gets the remembered values, then those that are sent from then on, then the completion: in the
///   order of their sending, and none twice. After the completion a newcomer gets the remembered values and that same
///   completion.
/// - Each subscriber gets exactly as many values as it asked for. What it has not asked for yet waits for it alone,
///   within the bound that ``/PenstockStreams/ReplayBacklog`` names.
/// - `send`, `receive`, `request` and `cancel` may race and re-enter. A subscriber is told one thing at a time; what is
///   sent while it is being told something on another thread, or from within its own `receive`, follows.
///
/// ```swift
/// let temperatures = ReplaySubject<Double, Never>(bufferSize: 1, backlog: .dropOldest(at: 16))
/// temperatures.send(21.5)
/// ```
public final class ReplaySubject<Output, Failure: Error>: Subject {
    /// What there is behind it: a memory of its own, or a log.
    @usableFromInline struct Backing {
        @usableFromInline let send: (Output) -> Void
        @usableFromInline let complete: (Subscribers.Completion<Failure>) -> Void
        @usableFromInline let subscribe: (any Subscriber<Output, Failure>) -> Void
        @usableFromInline let countSubscribers: () -> Int

        @usableFromInline init(
            send: @escaping (Output) -> Void, complete: @escaping (Subscribers.Completion<Failure>) -> Void,
            subscribe: @escaping (any Subscriber<Output, Failure>) -> Void, countSubscribers: @escaping () -> Int
        ) {
            self.send = send
            self.complete = complete
            self.subscribe = subscribe
            self.countSubscribers = countSubscribers
        }
    }

    @usableFromInline let backing: Backing
    /// What publishers send by it, to be cancelled when nobody has it any more.
    @usableFromInline let attached = Guarded<[any Subscription]>([])

    /// Makes a subject that nothing was sent by.
    ///
    /// - Parameters:
    ///   - bufferSize: how many values are remembered for newcomers, 0 or more.
    ///   - backlog: how many values may wait for a slow subscriber, and what happens then. Unless it is said otherwise
    ///     they all wait, as of the subjects that are known: nothing is lost, and `send` never blocks. With
    ///     `suspendSender` the thread that sends waits until every subscriber has room; only a send from within a
    ///     subscriber's `receive` does not, as it would wait for itself: its value stands in line.
    ///   - onDrop: told of each value that a subscriber lost, once for each of these.
    @inlinable public init(
        bufferSize: Int,
        backlog: ReplayBacklog<Failure> = .unbounded,
        onDrop: @escaping (Output) -> Void = { _ in }
    ) {
        let hub = ReplayHub(bufferSize: bufferSize, backlog: backlog, onDrop: onDrop)
        backing = Backing(
            send: hub.send, complete: hub.complete, subscribe: { hub.subscribe(ReplayListener($0)) },
            countSubscribers: { hub.subscriberCount })
    }

    /// Makes a subject of a log, which remembers by itself. Others on the same log, in this process or another, are the
    /// same subject: their values come out here as well, a new process replays what an earlier one sent, and a log that
    /// was completed stays so.
    ///
    /// - `send` hands a value to the log, in the order of the calls; subscribers get it when it is committed. The
    ///   thread that sends waits only while `Limits.stagedCountMax` values, or `Limits.stagedBytesMax` bytes of them, are on
    ///   their way.
    /// - Each subscriber has its own place in the log: a slow one loses nothing, and holds nobody back. Values that
    ///   the queue's retention forgot before a subscriber came to them are counted by `onMissed`.
    /// - A failure is kept as a ``/Penstock/RecordedFailure``.
    /// - When the store cannot write, the subject is over in this process, and its subscribers get the error. When it cannot read, those
    ///   get the error that it had then, and the subject goes on.
    ///
    /// ```swift
    /// let prices = ReplaySubject(bufferSize: 3, in: try await store.queue("prices", of: Double.self))
    /// ```
    ///
    /// - Parameters:
    ///   - bufferSize: how many values a newcomer gets first, 0 to `Limits.rowsMax`.
    ///   - log: the queue whose log holds the values. They are done as they are accepted; nobody works them.
    ///   - onMissed: told how many messages retention forgot before a subscriber came to them.
    public init(
        bufferSize: Int, in log: Queue<Output>, onMissed: @escaping @Sendable (Int) -> Void = { _ in }
    ) where Output: Sendable, Failure == any Error {
        let subject = LogSubject(bufferSize: bufferSize, in: log, onMissed: onMissed)
        backing = Backing(
            send: subject.send, complete: subject.complete, subscribe: { subject.subscribe(AnySubscriber($0)) },
            countSubscribers: { subject.subscriberCount })
    }

    deinit {
        for subscription in attached.withLock({ $0 }) { subscription.cancel() }
    }

    /// How many subscriptions there are.
    public var subscriberCount: Int { backing.countSubscribers() }

    /// Sends a value to all subscribers. After the completion it does nothing.
    public func send(_ value: Output) {
        backing.send(value)
    }

    /// Ends the subject, when those who wait to send have sent. Only the first completion counts.
    public func send(completion: Subscribers.Completion<Failure>) {
        backing.complete(completion)
    }

    /// Attaches a publisher that sends by this subject. It is asked for everything; with a backlog of `suspendSender`
    /// its thread waits. It is cancelled when the subject is let go.
    public func send(subscription: any Subscription) {
        attached.withLock { $0.append(subscription) }
        subscription.request(.unlimited)
    }

    /// Subscribes: what is remembered now and what is sent from now on goes to the subscriber.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
        backing.subscribe(subscriber)
    }
}

// Everything it has lies behind its lock. A subscriber hears from the thread that sends, as of any subject of Combine.
extension ReplaySubject: @unchecked Sendable where Output: Sendable {}
