import Synchronization

/// Wakes the tasks that wait for a queue to change.
///
/// A waiter takes a token, looks at the store, and then waits for a ring later than the token. A ring that came
/// between the two is not lost: the wait returns at once. So nobody sleeps through a change.
///
/// Queues share 1024 places, by a hash of their names that is the same in every process. A ring may
/// therefore wake a task that waits for another queue, which is rare and costs that task a look.
public final class Wakeups: Sendable {
    /// A moment in the order of rings.
    public struct Token: Hashable, Sendable {
        fileprivate let rings: UInt64
    }

    /// Why somebody waits.
    private enum Purpose {
        /// To take messages. What one takes is not there for the others, so it may be enough to wake some.
        case work
        /// To know what happens. All of these are woken.
        case news
    }

    private struct Waiter {
        var purpose: Purpose
        /// How many messages it can take.
        var room: Int
        /// What is done when it is woken, or when its wait is cancelled.
        var resume: @Sendable (Result<Void, any Error>) -> Void
    }

    /// A caller that is called when there is work.
    package struct Call: Sendable {
        fileprivate let place: Int
        fileprivate let id: UInt64
    }

    /// A task that waits until so many others wait for a ring.
    private struct Watcher {
        var count: Int
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var ringsOfAll: UInt64 = 0
        var rings = [UInt64](repeating: 0, count: Wakeups.placeCount)
        /// By place and by number, which is the order in which they came.
        var waiters: [Int: [UInt64: Waiter]] = [:]
        var waiterCount = 0
        var watchers: [UInt64: Watcher] = [:]
        var nextID: UInt64 = 0

        func count(at place: Int) -> UInt64 {
            ringsOfAll + rings[place]
        }

        mutating func takeID() -> UInt64 {
            nextID += 1
            return nextID
        }

        mutating func add(_ waiter: Waiter, _ id: UInt64, at place: Int) {
            waiters[place, default: [:]][id] = waiter
            waiterCount += 1
        }

        mutating func removeWaiter(_ id: UInt64, at place: Int) -> Waiter? {
            guard let waiter = waiters[place]?.removeValue(forKey: id) else { return nil }
            if waiters[place]?.isEmpty == true { waiters[place] = nil }
            waiterCount -= 1
            return waiter
        }

        /// Takes out all waiters at `place`.
        mutating func takeWaiters(at place: Int) -> [Waiter] {
            guard let woken = waiters.removeValue(forKey: place) else { return [] }
            waiterCount -= woken.count
            return Array(woken.values)
        }

        mutating func takeWatchers() -> [CheckedContinuation<Void, any Error>] {
            guard !watchers.isEmpty else { return [] }
            let content = watchers.filter { $0.value.count <= waiterCount }
            for id in content.keys { watchers[id] = nil }
            return content.values.map(\.continuation)
        }
    }

    /// How many places there are.
    package static let placeCount = 1024

    private let state = Mutex(State())
    private let listenForNews: (@Sendable () -> Void)?
    private let listensForNews = Atomic(false)

    /// Makes a bell that nobody has rung.
    public init() {
        listenForNews = nil
    }

    /// Makes a bell for a store that may not hear of everything.
    ///
    /// - Parameter listenForNews: is called once, before somebody waits for news. From then on the store has to ring for
    ///   all that happens, and not only where there is work.
    package init(listenForNews: @escaping @Sendable () -> Void) {
        self.listenForNews = listenForNews
    }

    /// Where `queue` rings: FNV-1a of its name (http://www.isthe.com/chongo/tech/comp/fnv/), the same in every process.
    package static func place(of queue: QueueName) -> Int {
        let hash = hash(of: queue)
        return Int((hash ^ hash >> 32) % UInt64(placeCount))
    }

    /// Tells `queue` from most others at its place.
    package static func tag(of queue: QueueName) -> UInt16 {
        UInt16(truncatingIfNeeded: hash(of: queue) >> 16)
    }

    private static func hash(of queue: QueueName) -> UInt64 {
        queue.text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    /// The present moment in the order of the rings for `queue`.
    public func token(for queue: QueueName) -> Token {
        token(at: Self.place(of: queue))
    }

    /// The present moment in the order of the rings at `place`.
    package func token(at place: Int) -> Token {
        state.withLock { Token(rings: $0.count(at: place)) }
    }

    /// Wakes the tasks that wait for `queue`, or all when it is `nil`.
    public func ring(_ queue: QueueName?) {
        if let queue {
            ringAll(at: Self.place(of: queue))
        } else {
            let woken = state.withLock { state in
                state.ringsOfAll += 1
                return Array(state.waiters.keys).flatMap { state.takeWaiters(at: $0) }
            }
            for waiter in woken { waiter.resume(.success(())) }
        }
    }

    /// Wakes all tasks that wait at `place`.
    ///
    /// - Returns: how many messages those that wait for work can take.
    @discardableResult
    package func ringAll(at place: Int) -> Int {
        let woken = state.withLock { state in
            state.rings[place] += 1
            return state.takeWaiters(at: place)
        }
        for waiter in woken { waiter.resume(.success(())) }
        return woken.reduce(0) { $1.purpose == .work ? $0 + $1.room : $0 }
    }

    /// Wakes the tasks that wait for news at `place` and, of those that wait for work, as many as can take the messages
    /// that `messages` says there are, first come first served. The others sleep on; a task that has a token and does not wait
    /// yet looks again.
    ///
    /// - Parameter messages: is told how many messages the tasks that wait for work can take, and says for how many to wake.
    package func ring(at place: Int, messages: (_ room: Int) -> Int) {
        let woken = state.withLock { state in
            state.rings[place] += 1
            let working = (state.waiters[place] ?? [:]).filter { $0.value.purpose == .work }
            var left = messages(working.values.reduce(0) { $0 + $1.room })
            let spared = working.sorted { $0.key < $1.key }.drop { waiter in
                defer { left -= waiter.value.room }
                return left > 0
            }.compactMap { waiter in
                state.removeWaiter(waiter.key, at: place).map { (waiter.key, $0) }
            }
            let woken = state.takeWaiters(at: place)
            if !spared.isEmpty {
                state.waiters[place] = Dictionary(uniqueKeysWithValues: spared)
                state.waiterCount += spared.count
            }
            return woken
        }
        for waiter in woken { waiter.resume(.success(())) }
    }

    /// Wakes all tasks that wait for news, wherever.
    package func ringForNews() {
        for place in state.withLock({ Array($0.waiters.keys) }) { ring(at: place) { _ in 0 } }
    }

    /// Returns when `queue` has been rung for after `token` was taken.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func wait(for queue: QueueName, after token: Token) async throws {
        try await wait(at: Self.place(of: queue), after: token, .news, room: 0)
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
        try await wait(at: Self.place(of: queue), after: token, .work, room: max(room, 1))
    }

    /// Has `woken` called, once, when ``waitForWork(in:after:room:)`` would return: for a caller that waits for other
    /// things as well and need not have a task for each.
    ///
    /// - Returns: what to ``cancel(_:)``, unless it was called already.
    package func callForWork(
        in queue: QueueName, after token: Token, room: Int, _ woken: @escaping @Sendable () -> Void
    ) -> Call? {
        let place = Self.place(of: queue)
        let (call, content) = state.withLock { state -> (Call?, [CheckedContinuation<Void, any Error>]) in
            if state.count(at: place) > token.rings { return (nil, []) }
            let id = state.takeID()
            state.add(Waiter(purpose: .work, room: max(room, 1)) { _ in woken() }, id, at: place)
            return (Call(place: place, id: id), state.takeWatchers())
        }
        if call == nil { woken() }
        for watcher in content { watcher.resume() }
        return call
    }

    /// Waits no longer. A caller that was called, or is being called, has been woken all the same.
    package func cancel(_ call: Call) {
        _ = state.withLock { $0.removeWaiter(call.id, at: call.place) }
    }

    private func wait(at place: Int, after token: Token, _ purpose: Purpose, room: Int) async throws {
        if purpose == .news, let listenForNews, !listensForNews.exchange(true, ordering: .relaxed) { listenForNews() }
        let id = state.withLock { $0.takeID() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, content): (Result<Void, any Error>?, [CheckedContinuation<Void, any Error>]) =
                    state.withLock { state in
                        if Task.isCancelled { return (.failure(CancellationError()), []) }
                        if state.count(at: place) > token.rings { return (.success(()), []) }
                        state.add(
                            Waiter(purpose: purpose, room: room) { continuation.resume(with: $0) }, id, at: place)
                        return (nil, state.takeWatchers())
                    }
                if let result { continuation.resume(with: result) }
                for watcher in content { watcher.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.removeWaiter(id, at: place) }
            waiter?.resume(.failure(CancellationError()))
        }
    }

    /// Returns when `queue` has been rung for after `token`, or when `time` has reached `deadline`.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func wait(
        for queue: QueueName, after token: Token, until deadline: Timestamp, by time: some TimeSource
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.wait(for: queue, after: token) }
            group.addTask { try await time.sleep(until: deadline) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// How many wait now.
    package var waiterCount: Int {
        state.withLock { $0.waiterCount }
    }

    /// Returns once at least `count` wait for a ring. For tests, which go on at this signal.
    package func waitForWaiters(count: Int = 1) async throws {
        let id = state.withLock { $0.takeID() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.waiterCount >= count { return .success(()) }
                    state.watchers[id] = Watcher(count: count, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let watcher = state.withLock { $0.watchers.removeValue(forKey: id) }
            watcher?.continuation.resume(throwing: CancellationError())
        }
    }
}
