import Synchronization

/// Wakes the tasks that wait for a queue to change.
///
/// A waiter takes a token, looks at the store, and then waits for a ring later than the token. A ring that came
/// between the two is not lost: the wait returns at once. So nobody sleeps through a change.
///
/// Queues share 1024 buckets, by a hash of their names that is the same in every process. A ring may
/// therefore wake a task that waits for another queue, which is rare and costs that task a look.
public final class Wakeups: Sendable {
    /// A moment in the order of rings.
    public struct Token: Hashable, Sendable {
        /// The number of the last ring before it.
        package let ring: UInt64

        package init(ring: UInt64) {
            self.ring = ring
        }
    }

    /// What a ring announces, and what somebody waits for: a waiter is woken for what it waits for and for all that comes
    /// after that in this list.
    package enum Change: Int, Comparable, Sendable {
        /// The queue's log has changed, and nothing that concerns its line: what came is claimed already.
        case log
        /// There may be room in the line.
        case room
        /// There may be messages to claim. What one takes is not there for the others, so it may be enough to wake some.
        case work

        static let count = 3

        package static func < (left: Change, right: Change) -> Bool { left.rawValue < right.rawValue }
    }

    /// A caller that is called when there is work.
    package struct Call: Sendable {
        fileprivate let bucket: Int
        fileprivate let id: UInt64
    }

    /// The bell of tasks that hold messages of a queue and may be asked to end that work. Each `LeaseKeeper` has such a task; it waits for
    /// no messages, so nothing else that rings here wakes it.
    package let notices: Notices
    private let state = Mutex(State())
    private let listenForNews: (@Sendable () -> Void)?
    private let listensForNews = Atomic(false)
    private let sleepBegins: (@Sendable (Bell, _ bucket: Int) -> Void)?

    /// Makes a bell that nobody has rung.
    public init() {
        listenForNews = nil
        sleepBegins = nil
        notices = Notices()
    }

    /// Makes a bell for a store that hears of changes only where it asks for them, as a client of a server does.
    ///
    /// - Parameter sleepBegins: is called whenever somebody has begun to wait, with the bell and the bucket. From then on, until
    ///   ``hasSleepers(at:for:)`` says otherwise, the store has to ring there.
    package init(sleepBegins: @escaping @Sendable (Bell, _ bucket: Int) -> Void) {
        listenForNews = nil
        self.sleepBegins = sleepBegins
        notices = Notices(sleepBegins: { sleepBegins(.notice, $0) })
    }

    /// Makes a bell for a store that may not hear of everything.
    ///
    /// - Parameter listenForNews: is called once, before somebody waits for news. From then on the store has to ring for
    ///   all that happens, and not only where there is work.
    package init(listenForNews: @escaping @Sendable () -> Void) {
        self.listenForNews = listenForNews
        sleepBegins = nil
        notices = Notices()
    }

    /// The present moment in the order of the rings for `queue`.
    public func token(for queue: QueueName) -> Token {
        lastRing(for: .log, at: RingBucket.of(queue))
    }

    /// The moment of the last ring at `bucket` for `change` or for one that comes after it.
    package func lastRing(for change: Change, at bucket: Int) -> Token {
        state.withLock { Token(ring: $0.lastRing(for: change, at: bucket)) }
    }

    /// Whether there may be messages of `queue` to claim that were not there when `token` was taken.
    package func isRungForWork(in queue: QueueName, after token: Token) -> Bool {
        lastRing(for: .work, at: RingBucket.of(queue)).ring > token.ring
    }

    /// Wakes the tasks of this process that hold leases of `queue`: each asks the store how those stand, and ends the handlers whose
    /// messages are to be cancelled. The store calls this after it has asked workers to end, or has taken messages from them; a reader
    /// calls it when a claim gives it messages of which that may have been said meanwhile.
    public func notify(_ queue: QueueName) { notices.ring(at: RingBucket.of(queue)) }

    /// Wakes the tasks that wait for `queue`, or all when it is `nil`.
    public func ring(_ queue: QueueName?) {
        guard let queue else { return ringEverywhere(for: .work) }
        ringAll(at: RingBucket.of(queue))
    }

    private func ringEverywhere(for change: Change) {
        let woken = state.withLock { state in
            state.ringCount += 1
            state.lastNewsForAll = state.ringCount
            if change == .work { state.lastRingForAll = state.ringCount }
            return Array(state.sleepers.keys).flatMap { state.take(for: change, at: $0) }
        }
        for sleeper in woken { sleeper.resume(.success(())) }
    }

    /// Wakes all tasks that wait for `change` at `bucket`.
    ///
    /// - Returns: how many messages those that wait for work can take.
    @discardableResult
    package func ringAll(at bucket: Int, for change: Change = .work) -> Int {
        let woken = state.withLock { state in
            state.ring(for: change, at: bucket)
            return state.take(for: change, at: bucket)
        }
        for sleeper in woken { sleeper.resume(.success(())) }
        return woken.reduce(0) { $1.awaited == .work ? $0 + $1.room : $0 }
    }

    /// Wakes the tasks that wait for anything but work at `bucket` and, of those that wait for work, as many as can take the
    /// messages that `messages` says there are, first come first served. The others sleep on; a task that has a token and does
    /// not wait yet looks again.
    ///
    /// - Parameter messages: is told how many messages the tasks that wait for work can take, and says for how many to wake.
    package func ring(at bucket: Int, messages: (_ room: Int) -> Int) {
        let woken = state.withLock { state in
            state.ring(for: .work, at: bucket)
            let working = (state.sleepers[bucket] ?? [:]).filter { $0.value.awaited == .work }
            var left = messages(working.values.reduce(0) { $0 + $1.room })
            var woken = state.take(for: .room, at: bucket)
            for (id, sleeper) in working.sorted(by: { $0.key < $1.key }) where left > 0 {
                left -= sleeper.room
                if let sleeper = state.remove(id, at: bucket) { woken.append(sleeper) }
            }
            return woken
        }
        for sleeper in woken { sleeper.resume(.success(())) }
    }

    /// Wakes all tasks that wait for anything but work, wherever.
    package func ringForNews() { ringEverywhere(for: .room) }

    /// Returns when `queue` has been rung for after `token` was taken.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func wait(for queue: QueueName, after token: Token) async throws {
        try await wait(at: RingBucket.of(queue), after: token, for: .log)
    }

    /// Returns when `queue` has been rung for after `token`, and not only because of messages that were claimed as they came.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    package func waitForRoomOrWork(in queue: QueueName, after token: Token) async throws {
        try await wait(at: RingBucket.of(queue), after: token, for: .room)
    }

    /// Returns when there may be messages of `queue` to claim that were not there when `token` was taken.
    ///
    /// It does as ``wait(for:after:)``, but sleeps on when others that wait for work, in whichever process, have been
    /// woken for all the messages that a ring told of.
    ///
    /// - Parameters:
    ///   - queue: the queue whose messages are wanted.
    ///   - token: a moment before the caller looked for messages and found none.
    ///   - room: how many messages the caller claims when it is woken. Nobody else is woken for these.
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func waitForWork(in queue: QueueName, after token: Token, room: Int = 1) async throws {
        try await wait(at: RingBucket.of(queue), after: token, for: .work, room: max(room, 1))
    }

    /// Has `woken` called, once, when ``waitForWork(in:after:room:)`` would return: for a caller that waits for other
    /// things as well and need not have a task for each.
    ///
    /// - Returns: what to ``cancel(_:)``, unless it was called already.
    package func callForWork(
        in queue: QueueName, after token: Token, room: Int, _ woken: @escaping @Sendable () -> Void
    ) -> Call? {
        let bucket = RingBucket.of(queue)
        let (call, watchers) = state.withLock { state -> (Call?, [Waiter<Void>]) in
            if state.lastRing(for: .work, at: bucket) > token.ring { return (nil, []) }
            let id = state.takeID()
            let sleeper = Sleeper(awaited: .work, room: max(room, 1)) { _ in woken() }
            return (Call(bucket: bucket, id: id), state.add(sleeper, id, at: bucket))
        }
        if call == nil { woken() } else { sleepBegins?(.work, bucket) }
        for watcher in watchers { watcher.resume() }
        return call
    }

    /// Waits no longer. A caller that was called, or is being called, has been woken all the same.
    package func cancel(_ call: Call) {
        _ = state.withLock { $0.remove(call.id, at: call.bucket) }
    }

    /// Returns when `bucket` has been rung for `change`, or one that comes after that, after `token` was taken.
    ///
    /// - Parameter room: how many messages the caller takes, if it waits for work.
    /// - Throws: `CancellationError` when the task is cancelled first.
    package func wait(at bucket: Int, after token: Token, for change: Change, room: Int = 0) async throws {
        if change < .work, let listenForNews, !listensForNews.exchange(true, ordering: .relaxed) { listenForNews() }
        let id = state.withLock { $0.takeID() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, watchers): (Result<Void, any Error>?, [Waiter<Void>]) = state.withLock { state in
                    if Task.isCancelled { return (.failure(CancellationError()), []) }
                    if state.lastRing(for: change, at: bucket) > token.ring { return (.success(()), []) }
                    let sleeper = Sleeper(awaited: change, room: room) { continuation.resume(with: $0) }
                    return (nil, state.add(sleeper, id, at: bucket))
                }
                if let result { continuation.resume(with: result) } else { sleepBegins?(Bell(change), bucket) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.remove(id, at: bucket) }
            sleeper?.resume(.failure(CancellationError()))
        }
    }

    /// Whether somebody waits there for what the bell tells.
    package func hasSleepers(at bucket: Int, for bell: Bell) -> Bool {
        guard let change = bell.change else { return notices.hasSleepers(at: bucket) }
        return state.withLock { $0.sleepers[bucket]?.values.contains { $0.awaited == change } ?? false }
    }

    /// How many messages the tasks can take that wait for work there.
    package func room(at bucket: Int) -> Int {
        state.withLock { $0.sleepers[bucket]?.values.reduce(0) { $1.awaited == .work ? $0 + $1.room : $0 } ?? 0 }
    }

    /// How many wait now.
    package var waiterCount: Int { state.withLock { $0.sleeperCount } }

    /// Returns once at least `count` wait for a ring. For tests, which go on at this signal.
    package func waitForWaiters(count: Int = 1) async throws {
        let waiter: Waiter<Void>? = state.withLock { state in
            if state.sleeperCount >= count { return nil }
            let waiter = Waiter<Void>()
            state.watchers.append((count, waiter))
            return waiter
        }
        try await waiter?.wait()
    }
}

extension Bell {
    init(_ change: Wakeups.Change) {
        self =
            switch change {
            case .log: .log
            case .room: .room
            case .work: .work
            }
    }

    /// What it tells of the line; `nil`: it is the bell of ``Notices``.
    package var change: Wakeups.Change? {
        switch self {
        case .log: .log
        case .room: .room
        case .work: .work
        case .notice: nil
        }
    }
}
