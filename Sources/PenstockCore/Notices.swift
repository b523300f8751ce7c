internal import Synchronization

/// Tells those who work on messages of a queue that something may be asked of them: a bell beside ``Wakeups`` for tasks that
/// have work in hand, and sleep while there are messages to claim.
///
/// Queues share the buckets of ``RingBucket``. A ring that is for another queue, or for nothing, costs those who hear it a look.
package final class Notices: Sendable {
    /// A moment in the order of rings at one bucket.
    package struct Token: Hashable, Sendable {
        package let ring: UInt64

        package init(ring: UInt64) {
            self.ring = ring
        }
    }

    private struct State {
        var ringCount: UInt64 = 0
        var lastRings: [Int: UInt64] = [:]
        var sleepers: [Int: [ObjectIdentifier: Waiter<Void>]] = [:]

        func lastRing(at bucket: Int) -> UInt64 { lastRings[bucket] ?? 0 }
    }

    private let state = Mutex(State())

    private let sleepBegins: (@Sendable (_ bucket: Int) -> Void)?

    /// - Parameter sleepBegins: is called whenever somebody has begun to wait, with the bucket.
    init(sleepBegins: (@Sendable (_ bucket: Int) -> Void)? = nil) {
        self.sleepBegins = sleepBegins
    }

    /// The present moment in the order of the rings for `queue`.
    package func token(for queue: QueueName) -> Token { lastRing(at: RingBucket.of(queue)) }

    package func lastRing(at bucket: Int) -> Token { state.withLock { Token(ring: $0.lastRing(at: bucket)) } }

    /// Whether somebody waits at `bucket`.
    func hasSleepers(at bucket: Int) -> Bool { state.withLock { $0.sleepers[bucket] != nil } }

    /// Wakes all that wait at `bucket`.
    package func ring(at bucket: Int) {
        let woken = state.withLock { state in
            state.ringCount += 1
            state.lastRings[bucket] = state.ringCount
            return state.sleepers.removeValue(forKey: bucket).map { Array($0.values) } ?? []
        }
        for waiter in woken { waiter.resume() }
    }

    /// Returns when `queue` has been rung for after `token` was taken.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    package func wait(for queue: QueueName, after token: Token) async throws {
        try await wait(at: RingBucket.of(queue), after: token)
    }

    /// Returns when `bucket` has been rung after `token` was taken.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    package func wait(at bucket: Int, after token: Token) async throws {
        let waiter = Waiter<Void>()
        let id = ObjectIdentifier(waiter)
        let isRung = state.withLock { state in
            if state.lastRing(at: bucket) > token.ring { return true }
            state.sleepers[bucket, default: [:]][id] = waiter
            return false
        }
        if isRung { return }
        sleepBegins?(bucket)
        defer {
            state.withLock { state in
                state.sleepers[bucket]?[id] = nil
                if state.sleepers[bucket]?.isEmpty == true { state.sleepers[bucket] = nil }
            }
        }
        try await waiter.wait()
    }
}
