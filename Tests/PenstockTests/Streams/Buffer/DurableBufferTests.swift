import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct DurableBufferTests {
    private let fixture = Fixture()
    private var streaming: Streaming { Streaming(time: fixture.time) }

    @Test func aLoopGetsDeliveriesAndSettlesThem() async throws {
        let queue = try await fixture.queue()
        var values: [Int] = []
        for try await delivery in AtOnce(1...20).buffer(size: 3, prefetch: .keepFull, whenFull: .wait, in: queue) {
            #expect(delivery.attempt == 1)
            values.append(delivery.payload)
            try await delivery.done()
        }
        #expect(values == Array(1...20))
        #expect(try await fixture.store.values([.done]) == values)
    }

    /// Its consumer takes longer than the lease, and asks for nothing meanwhile: nobody has looked for lost work, and the store takes
    /// the verdict yet.
    @Test func aStreamDoesNotEndBeforeADeliveryWhoseLeaseHasEnded() async throws {
        let queue = try await fixture.queue(policy: .exact)
        let stream = AtOnce([1]).buffer(
            size: 8, prefetch: .keepFull, whenFull: .wait, in: queue, lease: .seconds(1))
        let reading = Task { [time = fixture.time] in
            var attempts: [Int] = []
            for try await delivery in stream {
                attempts.append(delivery.attempt)
                guard delivery.attempt == 1 else {
                    try await delivery.done()
                    continue
                }
                try await time.sleep(for: .seconds(3))
                try await delivery.retry("later")
            }
            return attempts
        }
        #expect(try await fixture.whileTimePasses { try await reading.value } == [1, 2])
        #expect(try await fixture.store.values([.done]) == [1])
    }

    /// It has nothing to store, and no lease to wait for.
    @Test func aStreamThatIsCancelledWhileTheStoreIsAwayEndsSoon() async throws {
        let queue = try await fixture.queue()
        let before = fixture.calls.calls(of: .configure).count
        for count in 1...500 { fixture.calls.fail(.reclaim, at: count, with: PenstockError(.unreachable, "Away.")) }
        let stream = AtOnce([1]).buffer(
            size: 8, prefetch: .keepFull, whenFull: .wait, in: queue, lease: .seconds(3600))
        let reading = Task { for try await _ in stream {} }
        try await fixture.calls.calls(of: .reclaim).wait(for: 1)
        reading.cancel()
        let cancelled = fixture.time.now
        _ = try await fixture.whileTimePasses { await reading.result }
        #expect(fixture.time.now - cancelled < .seconds(60))
        #expect(fixture.calls.calls(of: .configure).count == before, "Nobody wants it to be as the stream had it.")
    }

    /// Somebody else has the only place when the value comes, and leaves it before the stream has claimed in vain.
    @Test func aValueThatFoundNoRoomHearsAtOnceThatThereIsSome() async throws {
        let fixture = Fixture(crowded)
        let streaming = Streaming(time: fixture.time)
        let queue = try await fixture.queue()
        let stream = AtOnce([1]).buffer(size: 1, prefetch: .keepFull, whenFull: .wait, in: queue)
            .flatMap(maxConcurrent: 1) { AtOnce([$0]) }
        let consumer = Task(executorPreference: streaming.executor) { await Streaming.read(stream) }
        await streaming.executor.waitUntilIdle()
        #expect(try await fixture.store.values([.done]) == [1])
        consumer.cancel()
        _ = await consumer.value
    }

    @Test func aSourceFasterThanItsConsumer() async throws {
        let queue = try await fixture.queue()
        let streaming = streaming
        let ticks = Ticks(range: 1...50, interval: .milliseconds(100), time: fixture.time)
        let (values, failure) = await streaming(
            ticks.buffer(size: 4, prefetch: .byRequest, whenFull: .dropOldest, in: queue)
                .flatMap(maxConcurrent: 1, streaming.work(.milliseconds(1_030))))
        #expect(failure == nil)
        let dropped = try await fixture.store.values([.dropped])
        #expect(Set(values).union(dropped) == Set(1...50))
        #expect(values.count + dropped.count == 50)
        #expect(values.suffix(4) == [47, 48, 49, 50])
        #expect(values == values.sorted())
    }

    @Test(arguments: [OverflowPolicy.dropNewest, .dropOldest])
    func everyDropIsOnRecordWithItsReason(policy: OverflowPolicy) async throws {
        let queue = try await fixture.queue()
        let streaming = streaming
        let whenFull = policy == .dropNewest ? DurableOverflow.dropNewest : .dropOldest
        let (values, _) = await streaming(
            AtOnce(1...200).buffer(size: 10, prefetch: .byRequest, whenFull: whenFull, in: queue)
                .flatMap(maxConcurrent: 3, streaming.work(.seconds(1))))
        let drops = try await fixture.store.list(MessageQuery(queue: queue.name, states: [.dropped]))
        #expect(values.count + drops.count == 200)
        #expect(drops.allSatisfy { $0.reason == (policy == .dropNewest ? .dropNewest : .dropOldest) })
        #expect(drops.allSatisfy { $0.finishedAt != nil })
        let status = try await queue.status()
        #expect(status.totals.dropped == drops.count)
        #expect(status.policy.capacity == Capacity(10, whenFull: policy))
    }

    @Test func anOverflowThatFailsLeavesWhatWaitsForTheNextStream() async throws {
        struct TooSlow: Error {}
        let queue = try await fixture.queue()
        let streaming = streaming
        let stream = AtOnce(1...10).buffer(
            size: 4, prefetch: .byRequest, whenFull: .customError { TooSlow() }, in: queue)
        let (values, failure) = await streaming(stream.flatMap(maxConcurrent: 1, streaming.work(.seconds(1))))
        #expect(failure is TooSlow)
        // The first was being worked on, and goes on when nobody has asked for more meanwhile.
        #expect(values == [1])
        #expect(try await fixture.store.values([.ready]) == [2, 3, 4, 5])

        let next = AtOnce([6]).buffer(size: 5, prefetch: .byRequest, whenFull: .dropNewest, in: queue)
        let (rest, _) = await streaming(next.flatMap(maxConcurrent: 1, streaming.work(.seconds(1))))
        #expect(rest == [2, 3, 4, 5, 6])
    }

    @Test func aFailureOfUpstreamLeavesWhatWaitsForTheNextStream() async throws {
        let queue = try await fixture.queue()
        let streaming = streaming
        let stream = Failing(values: [1, 2, 3]).buffer(size: 4, prefetch: .keepFull, whenFull: .wait, in: queue)
        let (_, failure) = await streaming(stream)
        #expect(failure is Failing.Broken)
        #expect(try await fixture.store.values() == [1, 2, 3])
        // What the loop got it has not settled; its lease ends.
        let (rest, _) = await streaming(
            AtOnce([4]).buffer(size: 4, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: 1, streaming.work(.seconds(20))))
        #expect(Set(rest) == [1, 2, 3, 4])
    }

    @Test func aValueThatCannotBeDecodedIsADeadLetterAndTakesNoDemand() async throws {
        let bytes = try await fixture.store.queue("q")
        try await bytes.enqueue(Array("no number".utf8))
        let queue = try await fixture.queue()
        let streaming = streaming
        let (values, failure) = await streaming(
            AtOnce(1...3).buffer(size: 4, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: 1, streaming.work(.seconds(1))))
        #expect(values == [1, 2, 3])
        #expect(failure == nil)
        #expect(try await queue.status().depths.dead == 1)
    }

    @Test func othersMayUseTheQueueAsWell() async throws {
        let queue = try await fixture.queue()
        let streaming = streaming
        let subject = AsyncPassthroughSubject<Int, Never>()
        let stream = subject.buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest, in: queue)
            .flatMap(maxConcurrent: 2, streaming.work(.seconds(1)))
        let consumer = Task(executorPreference: streaming.executor) { await Streaming.read(stream) }
        await streaming.executor.waitUntilIdle()
        try await queue.enqueue(contentsOf: [101, 102, 103])
        await streaming.executor.waitUntilIdle()
        subject.send(1)
        await streaming.executor.run(fixture.time, to: fixture.time.now + .seconds(10))
        try await queue.enqueue(104)
        subject.finish()
        await streaming.executor.run(fixture.time)
        #expect(await consumer.value.values == [101, 102, 103, 1, 104])
    }

    /// The verdict on a value and the claim of the next one are one transaction.
    @Test(arguments: [1, 4])
    func aVerdictGoesWithTheNextClaim(width: Int) async throws {
        struct CountedCalls: ForwardingStore {
            let base: any MessageStore
            let claims = Tally()
            let settles = Tally()

            func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
                let isSettle = operations.contains { if case .settle = $0 { true } else { false } }
                if isSettle || operations.contains(where: \.isClaim) { claims.add() }
                return try await base.perform(operations, flushed: flushed)
            }

            func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
                settles.add()
                return try await base.settle(settlements)
            }
        }
        let streaming = streaming
        let calls = CountedCalls(base: fixture.base)
        let queue = try await PenstockStore(calls, options: .init(time: fixture.time)).queue("q", of: Int.self)
        let count = 50
        let (values, failure) = await streaming(
            AtOnce(1...count).buffer(size: 10, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: width, streaming.work(.seconds(1))))
        #expect(failure == nil)
        #expect(Set(values) == Set(1...count))
        #expect(calls.settles.count == 0)
        // One for each value, the first values', and the one that finds nothing left.
        #expect(calls.claims.count <= count + 2)
    }

    /// One call stores it and claims it, and wakes nobody: there is nothing more to claim.
    @Test(arguments: [OverflowPolicy.dropNewest, .wait])
    func aValueThatGoesStraightThroughCostsOneClaim(policy: OverflowPolicy) async throws {
        struct CountedClaims: ForwardingStore {
            let base: any MessageStore
            let count = Tally()

            func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
                if operations.contains(where: \.isClaim) { count.add() }
                return try await base.perform(operations, flushed: flushed)
            }
        }
        let (time, streaming) = (fixture.time, streaming)
        let claims = CountedClaims(base: fixture.base)
        let queue = try await PenstockStore(claims, options: .init(time: time)).queue("q", of: Int.self)
        let subject = AsyncPassthroughSubject<Int, Never>()
        let stream = subject.buffer(
            size: 4, prefetch: .byRequest, whenFull: policy == .wait ? .wait : .dropNewest, in: queue
        ).flatMap(maxConcurrent: 2, streaming.work(.seconds(1)))
        let consumer = Task(executorPreference: streaming.executor) { await Streaming.read(stream) }
        await streaming.executor.waitUntilIdle()
        for value in 1...5 {
            let before = claims.count.count
            subject.send(value)
            await streaming.executor.waitUntilIdle()
            #expect(claims.count.count == before + 1)
            await streaming.executor.run(time, to: time.now + .seconds(2))
        }
        subject.finish()
        await streaming.executor.run(time)
        #expect(await consumer.value.values == Array(1...5))
    }

    @Test func whatCannotBeIsRefusedAtTheDoor() async throws {
        let queue = try await fixture.queue()
        for stream in [
            AtOnce([1]).buffer(size: 0, prefetch: .keepFull, whenFull: .wait, in: queue),
            AtOnce([1]).buffer(size: 1, prefetch: .keepFull, whenFull: .wait, in: queue, lease: .zero),
            AtOnce([1]).delay(for: .seconds(-1), in: queue),
        ] {
            let (_, failure) = await Streaming.read(stream)
            #expect((failure as? PenstockError)?.code == .invalidInput)
        }
        #expect(try await fixture.store.values().isEmpty)
    }

    /// The store's disk is full for a while. The stream waits for it, and nothing is lost or given twice.
    @Test(arguments: [
        FaultyStore.Call.reclaim, .status, .configure, .messages, .enqueue, .claim, .settle,
    ])
    func aStreamOutlivesAFaultThatMayPass(call: FaultyStore.Call) async throws {
        let fixture = Fixture()
        let queue = try await fixture.queue()
        let streaming = Streaming(time: fixture.time)
        for count in 1...2 { fixture.calls.fail(call, at: count, with: PenstockError(.diskFull, "No room is left.")) }
        let (values, failure) = await streaming(
            AtOnce(1...10).buffer(size: 10, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: 1, streaming.work(.seconds(1))))
        #expect(failure == nil)
        #expect(values == Array(1...10))
    }

    @Test(arguments: [
        FaultyStore.Call.reclaim, .status, .configure, .messages, .enqueue, .claim, .settle,
    ])
    func aFaultOfTheStoreIsAFailureOfTheStream(call: FaultyStore.Call) async throws {
        for side in [FaultyStore.Side.before, .after] {
            let fixture = Fixture()
            let queue = try await fixture.queue()
            let streaming = Streaming(time: fixture.time)
            let fault = PenstockError(.corrupt, "It is damaged, because a test wants it so.")
            fixture.calls.fail(call, side, with: fault)
            let source = AtOnce(1...10)
            let (values, failure) = await streaming(
                source.buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest, in: queue)
                    .flatMap(maxConcurrent: 1, streaming.work(.seconds(1))))
            #expect((failure as? PenstockError)?.code == .corrupt)
            let stored = try await fixture.store.values()
            let (rest, _) = await streaming(
                AtOnce(source.values.filter { $0 > stored.max() ?? 0 })
                    .buffer(size: 10, prefetch: .keepFull, whenFull: .wait, in: queue)
                    .flatMap(maxConcurrent: 1, streaming.work(.seconds(1))))
            let dropped = try await fixture.store.values([.dropped])
            #expect(Set(values).union(rest).union(dropped) == Set(1...10), "\(side)")
        }
    }
}
