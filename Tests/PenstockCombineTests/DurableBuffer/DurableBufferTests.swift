import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

@Suite(.timeLimit(.minutes(5))) struct DurableBufferTests {
    struct Full: Error, Equatable {}
    struct Broken: Error, Equatable {}

    private typealias Reader = Probe<Delivery<Int>, any Error>

    private func fixture(_ kind: World.Kind = .memory) async throws -> (World, World.Process, Queue<Int>) {
        let world = World(kind)
        let process = try await world.open()
        return (world, process, try await process.store.queue("q", of: Int.self))
    }

    @Test(arguments: World.Kind.allCases)
    func anOverflowThatIsAnErrorFailsAndWhatWaitsStays(kind: World.Kind) async throws {
        let (_, process, queue) = try await fixture(kind)
        let subject = PassthroughSubject<Int, Never>()
        let reader = Reader(demand: 1)
        await process.read(
            subject.buffer(size: 2, prefetch: .byRequest, whenFull: .customError { Full() }, in: queue), reader)
        for value in 1...5 { subject.send(value) }
        await process.stillness.waitUntilIdle()
        #expect(reader.values.map(\.payload) == [1])
        #expect(reader.failure is Full)
        #expect(try await process.count(.ready) == 2)

        let next = Reader(demand: 9)
        let other = PassthroughSubject<Int, Never>()
        await process.read(
            other.buffer(size: 2, prefetch: .byRequest, whenFull: .dropNewest, in: queue), next)
        other.send(9)
        await process.stillness.waitUntilIdle()
        #expect(next.values.map(\.payload) == [2, 3, 9])
        next.cancel()
        await process.stillness.waitUntilIdle()
        try await process.crash()
    }

    @Test func aFailureOfUpstreamComesAtOnceAndWhatWaitsStays() async throws {
        let (_, process, queue) = try await fixture()
        let subject = PassthroughSubject<Int, Broken>()
        let reader = Reader(demand: 1)
        await process.read(
            subject.buffer(size: 9, prefetch: .byRequest, whenFull: .dropNewest, in: queue), reader)
        for value in 1...3 { subject.send(value) }
        subject.send(completion: .failure(Broken()))
        await process.stillness.waitUntilIdle()
        #expect(reader.values.map(\.payload) == [1])
        #expect(reader.failure is Broken)
        #expect(try await process.count(.ready) == 2)
    }

    /// They were claimed together, and downstream took longer with the first one than their leases last.
    @Test func whatHasEndedInItsHandsIsNotHandedOut() async throws {
        let (world, process, queue) = try await fixture()
        let others = try await world.open()
        let ends = Timestamp(microseconds: world.time.now.microseconds + 61_000_000)
        let later = Tally()
        let reader = Reader(demand: 9) { reader, delivery in
            if reader.values.count == 1 { world.time.advance(to: ends) }
            if delivery.payload > 1 { later.add() }
            return 0
        }
        try await queue.enqueue(contentsOf: [1, 2, 3])
        await process.read(
            Empty<Int, Never>(completeImmediately: false).buffer(
                size: 9, prefetch: .byRequest, whenFull: .dropNewest, in: queue), reader)
        // What was given back comes again when the store has said so, which may be after the stream has come to rest.
        try await later.wait(for: 2)
        _ = try await others.store.storage.reclaim()
        let given = reader.values.map { "\($0.payload) at \($0.attempt)" }
        for delivery in reader.values where delivery.payload > 1 { try await delivery.done() }
        #expect(try await process.count(.done) == 2, "\(given)")
        reader.cancel()
        await process.stillness.waitUntilIdle()
    }

    @Test func itFinishesWhenAllIsSettled() async throws {
        let (_, process, queue) = try await fixture()
        let reader = Reader(demand: 9)
        await process.read(
            (1...3).publisher.buffer(size: 9, prefetch: .byRequest, whenFull: .dropNewest, in: queue), reader)
        #expect(reader.values.map(\.payload) == [1, 2, 3])
        #expect(!reader.isFinished)
        for delivery in reader.values { try await delivery.done() }
        await process.stillness.waitUntilIdle()
        #expect(reader.isFinished)
    }

    @Test func withoutAPolicyNothingIsLost() async throws {
        let (world, process, queue) = try await fixture()
        let probe = Probe<Int, any Error>(demand: .max)
        await process.read(
            (1...500).publisher.buffer(size: 4, in: queue).flatMap(maxPublishers: .max(3)) { value in
                Just(value).delay(for: .milliseconds(value % 7 + 1), scheduler: world.scheduler)
            }, probe)
        while !probe.isFinished, world.step() { await process.stillness.waitUntilIdle() }
        #expect(probe.values.sorted() == Array(1...500))
        #expect(try await process.count(.dropped) == 0)
    }

    @Test func aSourceFasterThanTheStoreWaits() async throws {
        let (_, process, queue) = try await fixture(.onDisk)
        let count = Limits.stagedCountMax * 5
        let probe = Probe<Int, any Error>(demand: .max)
        await process.read(
            (1...count).publisher.buffer(size: 10, prefetch: .byRequest, whenFull: .dropOldest, in: queue)
                .flatMap { Just($0) }, probe)
        #expect(probe.values == Array(1...count))
        #expect(probe.isFinished)
        try await process.crash()
    }

    @Test(arguments: World.Kind.allCases)
    func aDelayGoesOnAfterARestartWithWhatWasLeftOfIt(kind: World.Kind) async throws {
        let (world, process, queue) = try await fixture(kind)
        let subject = PassthroughSubject<Int, Never>()
        let first = Reader(demand: 9)
        await process.read(subject.delay(for: .seconds(10), in: queue), first)
        subject.send(1)
        await process.stillness.waitUntilIdle()
        await world.pass(4_000, in: process)
        try await process.crash()
        first.cancel()

        let reopened = try await world.open()
        let same = try await reopened.store.queue("q", of: Int.self)
        let second = Reader(demand: 9)
        await reopened.read(PassthroughSubject<Int, Never>().delay(for: .seconds(10), in: same), second)
        await world.pass(5_990, in: reopened)
        #expect(second.values.isEmpty)
        await world.pass(1_000, in: reopened)
        #expect(second.values.map(\.payload) == [1])
        second.cancel()
        await reopened.stillness.waitUntilIdle()
        try await reopened.crash()
    }

    @Test func storageErrorsAreFailures() async throws {
        let (world, process, queue) = try await fixture()
        let subject = PassthroughSubject<Int, Never>()
        let reader = Reader(demand: 1)
        await process.read(
            subject.buffer(size: 2, prefetch: .keepFull, whenFull: .dropNewest, in: queue), reader)
        try await process.crash()
        subject.send(1)
        await process.stillness.waitUntilIdle()
        #expect((reader.failure as? PenstockError)?.code == .closed)

        // Also before it has begun, and for numbers that cannot be: a subscriber that asks first is not left waiting.
        let late = Reader(demand: 1)
        await process.read(
            subject.buffer(size: 2, prefetch: .keepFull, whenFull: .dropNewest, in: queue), late)
        #expect((late.failure as? PenstockError)?.code == .closed)
        let open = try await world.open()
        let same = try await open.store.queue("q", of: Int.self)
        let mistaken = Reader(demand: 1)
        await open.read(
            subject.buffer(size: 0, prefetch: .keepFull, whenFull: .dropNewest, in: same), mistaken)
        #expect((mistaken.failure as? PenstockError)?.code == .invalidInput)
    }

    /// A subscriber that sends into its own source speaks on the engine's thread, which must not wait for itself.
    @Test func aSubscriberFeedsItsOwnSource() async throws {
        let (_, process, queue) = try await fixture()
        let subject = PassthroughSubject<Int, Never>()
        let count = Limits.stagedCountMax * 2
        let reader = Reader(demand: 1) { _, delivery in
            if delivery.payload == 0 { for value in 1...count { subject.send(value) } }
            return 0
        }
        await process.read(
            subject.buffer(size: 100_000, prefetch: .byRequest, whenFull: .dropNewest, in: queue), reader)
        subject.send(0)
        await process.stillness.waitUntilIdle()
        #expect(try await queue.status().depths.ready == count)
        #expect(reader.values.map(\.payload) == [0])
        reader.cancel()
        await process.stillness.waitUntilIdle()
    }

    /// The task inherits what the engine's task knows of itself, but the engine does not wait for it.
    @Test func aTaskBegunOnTheEnginesThreadWaitsForTheStore() async throws {
        let (_, process, queue) = try await fixture()
        let subject = Shared(PassthroughSubject<Int, Never>())
        let sender = IdleExecutor(isSerial: true)
        let (begun, sent) = (Tally(), Tally())
        let mayReturn = Gate()
        let count = Limits.stagedCountMax * 2
        let reader = Reader(demand: 1) { _, _ in
            Task(executorPreference: sender) {
                for value in 1...count {
                    begun.add()
                    subject.value.send(value)
                }
                sent.add()
            }
            // The engine calls no store meanwhile.
            mayReturn.pass()
            return 0
        }
        process.run {
            subject.value.buffer(size: 100_000, prefetch: .byRequest, whenFull: .dropNewest, in: queue)
                .subscribe(reader)
        }
        subject.value.send(0)
        // Threads of other tests may be waiting long before this one's has begun.
        try await eventually { begun.count >= Limits.stagedCountMax }
        try await eventually { StreamExecutor.waitingCount > 0 || sent.count > 0 }
        #expect(sent.count == 0)
        mayReturn.open()
        await sender.waitUntilIdle()
        await process.stillness.waitUntilIdle()
        #expect(try await queue.status().depths.ready == count)
        reader.cancel()
        await process.stillness.waitUntilIdle()
    }

    @Test func upstreamIsCalledByOneThreadAtATime() async throws {
        let store = PenstockStore(InMemoryStore())
        let queue = try await store.queue("q", of: Int.self)
        SlowUpstream.expectTheThreadThatAsksToCancel {
            $0.buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest, in: queue)
        }
        try await store.close()
    }
}
