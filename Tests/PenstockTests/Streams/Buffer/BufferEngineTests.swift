import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// The engine of a durable buffer and its calls of the store, when a store stops in the middle of them.
@Suite(.timeLimit(.minutes(5))) struct BufferEngineTests {
    private struct Full: Error {}

    /// Sends one to five as soon as it is asked for anything, so that one call stores and claims.
    private func run(on store: PenstockStore) async throws -> (given: [Int], stored: Int, failure: (any Error)?) {
        let queue = try await store.queue("q", of: Int.self)
        let given = Mutex<[Int]>([])
        let engine = Mutex<BufferEngine<Int>?>(nil)
        let hasBegun = Atomic(false)
        let made = BufferEngine(
            queue: queue, options: .init(size: 10, prefetch: .byRequest, whenFull: .customError { Full() }),
            outlets: .init(
                ask: { _ in
                    guard !hasBegun.exchange(true, ordering: .relaxed), let engine = engine.withLock({ $0 }) else {
                        return
                    }
                    for value in 1...5 { engine.arrived(value) }
                },
                give: { deliveries in
                    given.withLock { $0 += deliveries.map(\.payload) }
                    return true
                },
                cancelUpstream: {}))
        engine.withLock { $0 = made }
        made.request(2)
        async let failure = made.run()
        await withCheckedContinuation { still in made.whenStill { still.resume() } }
        made.cancel()
        let ended = await failure
        return (given.withLock { $0 }, try await queue.status().totals.enqueued, ended)
    }

    @Test func storesAndClaimsInOneCall() async throws {
        let the = Fixture()
        let (given, stored, failure) = try await run(on: the.store)
        #expect(given == [1, 2])
        #expect(stored == 5)
        #expect(failure == nil)
        #expect(the.calls.calls(of: .enqueue).count == 2, "Two that go through, and three that wait.")
    }

    /// Notes how many verdicts each call carries, and how often verdicts go by themselves.
    private final class VerdictCalls: ForwardingStore {
        let base: any MessageStore
        let carried = Mutex<[Int]>([])
        let handIns = Tally()

        init(base: any MessageStore) { self.base = base }

        func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
            handIns.add()
            return try await base.settle(settlements)
        }

        func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
            let count = operations.reduce(0) { sum, operation in
                if case .settle(let settlements) = operation { sum + settlements.count } else { sum }
            }
            carried.withLock { $0.append(count) }
            return try await base.perform(operations, flushed: flushed)
        }

        func queue(time: ManualTime) async throws -> Queue<Int> {
            try await PenstockStore(self, options: .init(time: time)).queue("q", of: Int.self)
        }
    }

    /// A source that always has a value would have the loop make its next call before anything of that is settled.
    @Test func whatWasGivenIsSettledWithTheNextCall() async throws {
        let the = Fixture()
        let calls = VerdictCalls(base: the.base)
        let queue = try await calls.queue(time: the.time)
        let executor = CountingExecutor()
        let engine = Mutex<BufferEngine<Int>?>(nil)
        let verdicts = Mutex<[Task<Void, any Error>]>([])
        let made = BufferEngine(
            queue: queue, options: .init(size: 20, prefetch: .keepFull, whenFull: .wait),
            outlets: .init(
                ask: { _ in for value in 1...8 { engine.withLock { $0 }?.arrived(value) } },
                give: { deliveries in
                    for delivery in deliveries {
                        let verdict = Task(executorPreference: executor) { try await delivery.done() }
                        verdicts.withLock { $0.append(verdict) }
                    }
                    engine.withLock { $0 }?.arrived(9)
                    return true
                },
                cancelUpstream: {}))
        engine.withLock { $0 = made }
        try await made.holder.line.manyWentTogether()
        made.request(8)
        let run = Task(executorPreference: executor) { await made.run() }
        await withCheckedContinuation { still in made.whenStill { still.resume() } }
        #expect(calls.carried.withLock { $0 } == [0, 8])
        for verdict in verdicts.withLock({ $0 }) { try await verdict.value }
        made.cancel()
        #expect(await run.value == nil)
        #expect(try await the.store.values([.ready]) == [9])
    }

    /// Between any two that a subscriber's code is given, the verdict on the first looks twice whether the loop goes on.
    @Test func aVerdictWaitsForALoopThatGivesToCode() async throws {
        let the = Fixture()
        let calls = VerdictCalls(base: the.base)
        let queue = try await calls.queue(time: the.time)
        let verdict = SteppedVerdict()
        let engine = Mutex<BufferEngine<Int>?>(nil)
        let made = BufferEngine(
            queue: queue, options: .init(size: 20, prefetch: .keepFull, whenFull: .wait),
            outlets: .init(
                ask: { _ in for value in 1...8 { engine.withLock { $0 }?.arrived(value) } },
                give: { deliveries in
                    verdict.step(beside: deliveries)
                    return true
                },
                givesToCode: true, cancelUpstream: {}))
        engine.withLock { $0 = made }
        let line = made.holder.line
        try await line.manyWentTogether()
        made.request(8)
        let run = Task { await made.run() }
        try await eventually { line.isAwaited || calls.handIns.count > 0 }
        try await verdict.finish()
        #expect(calls.handIns.count == 0)
        made.cancel()
        #expect(await run.value == nil)
    }

    /// Others fill the queue for a moment, and what was to be stored is offered one by one. What comes after it in the same
    /// call is not forgotten.
    @Test(arguments: 1...2)
    func aQueueThatWasFullForAMomentCostsNothing(nth: Int) async throws {
        let the = Fixture()
        the.calls.fail(.enqueue, at: nth, with: PenstockError(.queueFull, "The queue is full."))
        let (given, stored, failure) = try await run(on: the.store)
        #expect(given == [1, 2])
        #expect(stored == 5)
        #expect(failure == nil)
    }

    /// Nothing is claimed while downstream asks for nothing, so the buffer does not see that others empty its places.
    @Test func placesThatOthersHaveEmptiedAreFree() async throws {
        let the = Fixture()
        let queue = try await the.store.queue("q", of: Int.self)
        let engine = BufferEngine(
            queue: queue, options: .init(size: 2, prefetch: .byRequest, whenFull: .customError { Full() }),
            outlets: .init(ask: { _ in }, give: { _ in true }, cancelUpstream: {}))
        engine.request(1)
        async let failure = engine.run()
        await withCheckedContinuation { still in engine.whenStill { still.resume() } }
        for value in 1...3 { engine.arrived(value) }
        await withCheckedContinuation { still in engine.whenStill { still.resume() } }
        let others = try await queue.storage.claim(ClaimRequest(queue: queue.name, limit: 2, lease: .seconds(30)))
        #expect(others.messages.count == 2)
        for value in 4...5 { engine.arrived(value) }
        await withCheckedContinuation { still in engine.whenStill { still.resume() } }
        #expect(try await the.store.values([.ready]) == [4, 5])
        for value in 6...7 { engine.arrived(value) }
        #expect(await failure is Full)
        #expect(try await the.store.values([.ready]) == [4, 5])
    }

    /// A store that carries operations out one by one stops for good after some of them: those are done, and told.
    @Test func whatWasStoredAndClaimedBeforeAFailureIsGiven() async throws {
        let the = Fixture()
        the.calls.fail(.enqueue, at: 2, with: PenstockError(.corrupt, "The file is damaged."))
        let (given, stored, failure) = try await run(on: the.store)
        #expect(given == [1, 2])
        #expect(stored == 2)
        #expect((failure as? PenstockError)?.code == .corrupt)
    }

    /// Its messages keep their places, so upstream is not asked for values that could only be dropped.
    @Test(arguments: [DurableOverflow.dropNewest, .dropOldest])
    func aSourceIsNotDrainedIntoAQueueThatIsPaused(whenFull: DurableOverflow) async throws {
        let the = Fixture()
        let queue = try await the.store.queue("q", of: Int.self)
        try await queue.pause()
        let engine = Mutex<BufferEngine<Int>?>(nil)
        let sent = Mutex(0)
        let given = Mutex(0)
        let made = BufferEngine(
            queue: queue, options: .init(size: 4, prefetch: .keepFull, whenFull: whenFull),
            outlets: .init(
                ask: { count in
                    for _ in 0..<count where sent.withLock({ $0 < 1000 }) {
                        let value = sent.withLock { sent in
                            sent += 1
                            return sent
                        }
                        engine.withLock { $0 }?.arrived(value)
                    }
                },
                give: { deliveries in
                    given.withLock { $0 += deliveries.count }
                    return true
                },
                cancelUpstream: {}))
        engine.withLock { $0 = made }
        made.request(4)
        async let failure = made.run()
        await withCheckedContinuation { still in made.whenStill { still.resume() } }
        #expect(sent.withLock { $0 } <= 4 + 4 + 1, "As many as were asked for, as have room, and one.")
        #expect(try await queue.status().depths.waiting == 4)
        try await queue.resume()
        try await eventually { given.withLock { $0 } == 4 }
        made.cancel()
        #expect(await failure == nil)
    }

    private struct Down: Error {}

    /// As many values as have room wait to be tried again, and the next one waits for room. Those that are due are claimed before it is
    /// offered again.
    @Test(arguments: [(size: 2, width: 2, count: 6), (2, 1, 6), (3, 3, 12), (5, 4, 20)])
    func valuesThatAreTriedAgainAreTakenOutOfAFullBuffer(size: Int, width: Int, count: Int) async throws {
        let the = Fixture()
        let queue = try await the.queue(policy: QueuePolicy(retry: RetryPolicy(attemptsMax: 3, jitter: 0)))
        let stream = AtOnce(1...count).buffer(size: size, prefetch: .keepFull, whenFull: .wait, in: queue)
            .flatMap(maxConcurrent: width) { value in
                AsyncThrowingStream<Int, any Error> { inner in
                    if value.isMultiple(of: 2) { return inner.finish(throwing: Down()) }
                    inner.yield(value)
                    inner.finish()
                }
            }
        let values = try await the.whileTimePasses {
            var values: [Int] = []
            for try await value in stream { values.append(value) }
            return values
        }
        #expect(values.sorted() == (1...count).filter { !$0.isMultiple(of: 2) })
        #expect(try await the.store.values([.dead]).count == count / 2)
        #expect(the.calls.calls(of: .claim).count < 40 * count, "It sleeps while nothing is due.")
    }
}
