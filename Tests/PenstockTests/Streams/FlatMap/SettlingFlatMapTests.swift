import Penstock
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct SettlingFlatMapTests {
    private let fixture = Fixture()
    private var streaming: Streaming { Streaming(time: fixture.time) }
    private struct Broken: Error {}

    @Test func claimsExactlyAsManyAsItCanWorkOn() async throws {
        let queue = try await fixture.queue()
        try await queue.enqueue(contentsOf: Array(1...9))
        let streaming = streaming
        let stream = queue.deliveries().flatMap(maxConcurrent: 4, streaming.work(.seconds(1)))
        let consumer = Task(executorPreference: streaming.executor) { await Streaming.read(stream) }
        await streaming.executor.waitUntilIdle()
        #expect(try await queue.status().depths.leased == 4)
        #expect(fixture.calls.calls(of: .claim).count == 1)
        await streaming.executor.run(fixture.time, to: fixture.time.now + .milliseconds(1_500))
        #expect(try await queue.status().depths.leased == 4)
        #expect(try await queue.status().depths.ready == 1)
        consumer.cancel()
        _ = await consumer.value
        let status = try await queue.status()
        #expect((status.depths.leased, status.depths.ready, status.totals.done) == (0, 5, 4))
    }

    /// They come by a buffer in memory, say, and nothing extends the leases of what waits there.
    @Test func whatWaitedLongerThanItsLeaseIsNotWorkedOn() async throws {
        let queue = try await fixture.queue()
        try await queue.enqueue(contentsOf: [1, 2, 3])
        var reader = queue.deliveries(inFlightMax: 3, lease: .seconds(60)).makeAsyncIterator()
        var held: [Delivery<Int>] = []
        for _ in 1...3 { held.append(try #require(try await reader.next())) }
        // It is the program's to say when a message is done: before the work, for one.
        try await held[0].done()
        fixture.time.advance(by: .seconds(61))
        let worked = Mutex<[Int]>([])
        let buffered = AsyncStream { continuation in
            for delivery in held { continuation.yield(delivery) }
            continuation.finish()
        }
        let (values, failure) = await streaming(
            buffered.flatMap(maxConcurrent: 1) { value in
                Single {
                    worked.withLock { $0.append(value) }
                    return value
                }
            })
        #expect(failure == nil)
        #expect(values == [1])
        #expect(worked.withLock { $0 } == [1])
        _ = try await fixture.base.reclaim()
        let status = try await queue.status()
        #expect((status.totals.done, status.depths.ready) == (1, 2))
    }

    @Test func howAnInnerSequenceEndsDecidesAboutItsMessage() async throws {
        let queue = try await fixture.queue(policy: QueuePolicy(retry: RetryPolicy(attemptsMax: 2, jitter: 0)))
        let time = fixture.time
        let attempts = Mutex<[Int: [Timestamp]]>([:])
        let (values, failure) = await streaming(
            AtOnce(1...4).buffer(size: 9, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: 2) { value in
                    Single {
                        attempts.withLock { $0[value, default: []].append(time.now) }
                        switch value {
                        case 2: throw Broken()
                        case 3: throw Reject("no such thing")
                        case 4:
                            if attempts.withLock({ $0[4]?.count }) == 1 {
                                throw RetryAfter(.seconds(7), reason: "later")
                            }
                            return value
                        default: return value
                        }
                    }
                })
        #expect(failure == nil)
        #expect(values == [1, 4])
        let records = try await fixture.store.list(MessageQuery(queue: queue.name, withAttempts: true))
        #expect(records.map(\.state) == [.done, .dead, .dead, .done])
        #expect(records.map(\.reason) == [nil, .attemptsExhausted, .rejected, nil])
        #expect(records[1].attempts.count == 2)
        #expect(records[2].attempts.map(\.error) == ["no such thing"])
        let gaps = attempts.withLock { $0.mapValues { $0.count < 2 ? nil : $0[1] - $0[0] } }
        #expect(gaps == [1: nil, 2: .seconds(1), 3: nil, 4: .seconds(7)])
    }

    @Test func anInnerSequenceMayGiveManyValuesAndNone() async throws {
        let queue = try await fixture.queue()
        let (values, _) = await streaming(
            AtOnce(0...3).buffer(size: 9, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: 1) { value in AtOnce(Array(repeating: value, count: value)) })
        #expect(values == [1, 2, 2, 3, 3, 3])
        #expect(try await queue.status().totals.done == 4)
    }

    @Test func leasesAreExtendedWhileInnerSequencesRun() async throws {
        let queue = try await fixture.queue()
        let streaming = streaming
        let (values, _) = await streaming(
            AtOnce([1, 2]).buffer(size: 9, prefetch: .keepFull, whenFull: .wait, in: queue, lease: .seconds(3))
                .flatMap(maxConcurrent: 2, streaming.work(.seconds(60))))
        #expect(Set(values) == [1, 2])
        #expect(fixture.calls.calls(of: .extend).count >= 40)
        #expect(try await queue.status().totals.reclaimed == 0)
    }

    /// The store stalls for longer than leases last, and leaves the message to the stream that works on it.
    @Test func aStallOfTheStoreCostsNoVerdict() async throws {
        let queue = try await fixture.queue()
        let streaming = streaming
        fixture.calls.fail(every: [.extend], with: PenstockError(.busy, "Busy."))
        let stream = AtOnce([1]).buffer(size: 9, prefetch: .keepFull, whenFull: .wait, in: queue, lease: .seconds(3))
            .flatMap(maxConcurrent: 1, streaming.work(.seconds(10)))
        let consumer = Task(executorPreference: streaming.executor) { await Streaming.read(stream) }
        await streaming.executor.run(fixture.time, to: fixture.time.now + .seconds(8))
        fixture.calls.heal()
        await streaming.executor.run(fixture.time)
        #expect(await consumer.value.values == [1])
        #expect(try await fixture.store.values([.done]) == [1])
        #expect(try await queue.status().totals.reclaimed == 0)
    }

    @Test func aLostLeaseCancelsItsInnerSequence() async throws {
        let queue = try await fixture.queue()
        let streaming = streaming
        let cancelled = Tally()
        let stream = AtOnce([1, 2]).buffer(size: 9, prefetch: .keepFull, whenFull: .wait, in: queue, lease: .seconds(3))
            .flatMap(maxConcurrent: 2) { [time = fixture.time] value in
                Single {
                    do { try await time.sleep(until: time.now + .seconds(10)) } catch { cancelled.add() }
                    return value
                }
            }
        let consumer = Task(executorPreference: streaming.executor) { await Streaming.read(stream) }
        await streaming.executor.waitUntilIdle()
        try await fixture.store.cancel(.sequences([SequenceNumber(1)]))
        await streaming.executor.run(fixture.time)
        #expect(await consumer.value.values.contains(2))
        #expect(cancelled.count == 1)
        #expect(try await fixture.store.values([.done]) == [2])
    }

    /// Many sequences end in silence when their task is cancelled: that is no success. Nobody but the sequence is to blame
    /// when it has cancelled the task itself. Given back uncounted, its message would be first in line again, for ever.
    @Test(arguments: [true, false]) func oneThatCancelsItsOwnTaskHasFailed(endsInSilence: Bool) async throws {
        let queue = try await fixture.queue(policy: .exact)
        try await queue.enqueue(contentsOf: [1, 2])
        let streaming = streaming
        let stream = queue.deliveries().flatMap(maxConcurrent: 1) { value in
            Single {
                if value == 2 { return value }
                withUnsafeCurrentTask { $0?.cancel() }
                if !endsInSilence { throw CancellationError() }
                return value
            }
        }
        let consumer = Task(executorPreference: streaming.executor) { await Streaming.read(stream) }
        await streaming.executor.waitUntilIdle()
        let status = try await queue.status()
        #expect((status.depths.scheduled, status.totals.done, status.totals.retried) == (1, 1, 1))
        consumer.cancel()
        #expect(await consumer.value.values == (endsInSilence ? [1, 2] : [2]))
    }

    @Test func aClosureThatNamesTheDeliverySettlesItself() async throws {
        let queue = try await fixture.queue()
        let (values, _) = await streaming(
            AtOnce([1, 2]).buffer(size: 9, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: 1) { (delivery: Delivery<Int>) in
                    Single {
                        if delivery.payload == 1 { try await delivery.done() } else { try await delivery.reject("no") }
                        return delivery.payload
                    }
                })
        #expect(values == [1, 2])
        #expect(try await fixture.store.values([.dead]) == [2])
    }

    /// A delivery whose stream is cancelled as it comes.
    private struct Parting: Settleable {
        let base: Delivery<Int>
        let cancel: Latched<@Sendable () -> Void>

        var delivery: Delivery<Int> {
            cancel.value?()
            return base
        }
    }

    @Test func nothingBeginsForWhatIsGivenBackAsItComes() async throws {
        let queue = try await fixture.queue()
        try await queue.enqueue(1)
        var reader = queue.deliveries().makeAsyncIterator()
        let base = try #require(try await reader.next())
        let cancel = Latched<@Sendable () -> Void>()
        let (deliveries, came) = AsyncStream.makeStream(of: Parting.self)
        let begun = Tally()
        let stream = deliveries.flatMap(maxConcurrent: 1) { (value: Int) in
            begun.add()
            return AtOnce([value])
        }
        // One job after the other: the stream has begun, and can be cancelled, before its first task reads anything.
        let executor = CountingExecutor()
        let consumer = Task(executorPreference: executor) { await Streaming.read(stream) }
        cancel.set { consumer.cancel() }
        came.yield(Parting(base: base, cancel: cancel))
        #expect(await consumer.value.values == [])
        #expect(begun.count == 0)
        #expect(try await queue.status().depths.ready == 1)
    }
}
