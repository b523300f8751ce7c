import Dispatch
import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

@Suite(.timeLimit(.minutes(5))) struct SettlingTests {
    struct Broken: Error {}

    private func fixture(
        _ values: [Int], on kind: World.Kind = .memory, attemptsMax: Int = 3
    ) async throws -> (World, World.Process, Queue<Int>) {
        let world = World(kind)
        let process = try await world.open()
        let retry = RetryPolicy(attemptsMax: attemptsMax, jitter: 0)
        let queue = try await process.store.queue(
            "q", of: Int.self, policy: QueuePolicy(retry: retry))
        _ = try await queue.enqueue(contentsOf: values)
        return (world, process, queue)
    }

    @Test(arguments: World.Kind.allCases)
    func whatFinishesIsDone(kind: World.Kind) async throws {
        let (world, process, queue) = try await fixture(Array(1...5), on: kind)
        let probe = Probe<Int, any Error>(demand: .max)
        await process.read(
            queue.publisher.flatMap(maxPublishers: .max(2)) { value in
                Just(value * 10).delay(for: 1, scheduler: world.scheduler)
            }, probe)
        #expect(try await process.count(.leased) == 2)
        await world.pass(1_000, in: process)
        #expect(probe.values == [10, 20])
        #expect(try await process.count(.done) == 2)
        #expect(try await process.count(.leased) == 2)
        await world.pass(2_000, in: process)
        #expect(probe.values == [10, 20, 30, 40, 50])
        #expect(try await process.count(.done) == 5)
        probe.cancel()
        await process.stillness.waitUntilIdle()
        try await process.crash()
    }

    /// They come by a buffer in memory, say, and nothing extends the leases of what waits there.
    @Test func whatWaitedLongerThanItsLeaseIsNotWorkedOn() async throws {
        let (world, process, queue) = try await fixture([1, 2, 3])
        var reader = queue.deliveries(inFlightMax: 3, lease: .seconds(60)).makeAsyncIterator()
        var held: [Delivery<Int>] = []
        for _ in 1...3 { held.append(try #require(try await reader.next())) }
        // It is the program's to say when a message is done: before the work, for one.
        try await held[0].done()
        await world.pass(61_000, in: process)
        let seen = Guarded<[Int]>([])
        let probe = Probe<Int, any Error>(demand: .max)
        await process.read(
            held.publisher.setFailureType(to: (any Error).self).flatMap(maxPublishers: .max(1)) { value in
                seen.withLock { $0.append(value) }
                return Just(value)
            }, probe)
        #expect(seen.withLock { $0 } == [1])
        #expect(probe.values == [1])
        #expect(probe.isFinished)
        #expect(try await process.count(.done) == 1)
    }

    /// The subscriber cancels on another thread, as the delivery has just come.
    @Test func nothingBeginsForWhatIsGivenBackAsItComes() async throws {
        let (_, process, queue) = try await fixture([1])
        var reader = queue.deliveries().makeAsyncIterator()
        let delivery = try #require(try await reader.next())
        let seen = Guarded<[Int]>([])
        let probe = Probe<Int, any Error>(demand: .max)
        // The first task extends the lease, the second one waits for the end of the work.
        let executor = HoldingExecutor(withJob: 2) { probe.cancel() }
        func subscribe() {
            StreamExecutor.$current.withValue(executor) {
                [delivery].publisher.setFailureType(to: (any Error).self)
                    .flatMap(maxPublishers: .max(1)) { (value: Int) -> Just<Int> in
                        seen.withLock { $0.append(value) }
                        return Just(value)
                    }
                    .subscribe(probe)
            }
        }
        subscribe()
        executor.letGo()
        try await eventually { try await process.count(.ready) == 1 }
        #expect(seen.withLock { $0 } == [])
    }

    @Test func aFailureIsItsMessagesMatter() async throws {
        let (world, process, queue) = try await fixture([1, 2, 3, 4], attemptsMax: 2)
        let seen = Guarded<[Int]>([])
        let probe = Probe<Int, any Error>(demand: .max)
        await process.read(
            queue.publisher.flatMap(maxPublishers: .max(1)) { value -> AnyPublisher<Int, any Error> in
                seen.withLock { $0.append(value) }
                switch value {
                case 1: return Fail(error: Broken()).eraseToAnyPublisher()
                case 2: return Fail(error: Reject("no such customer")).eraseToAnyPublisher()
                case 3 where seen.withLock { $0.filter { $0 == 3 }.count == 1 }:
                    return Fail(error: RetryAfter(.seconds(60), reason: "closed")).eraseToAnyPublisher()
                default: return Just(value).setFailureType(to: (any Error).self).eraseToAnyPublisher()
                }
            }, probe)
        #expect(seen.withLock { $0 } == [1, 2, 3, 4])
        #expect(probe.values == [4])
        #expect(try await process.count(.dead) == 1)
        #expect(try await process.count(.scheduled) == 2)
        await world.pass(59_000, in: process)
        // 1 was tried again, and its attempts are used up.
        #expect(try await process.count(.dead) == 2)
        await world.pass(2_000, in: process)
        #expect(probe.values == [4, 3])
        #expect(probe.completionCount == 0)
        probe.cancel()
        await process.stillness.waitUntilIdle()
    }

    @Test func leasesAreExtendedWhileTheWorkGoesOn() async throws {
        let (world, process, queue) = try await fixture([1])
        let probe = Probe<Int, any Error>(demand: .max)
        await process.read(
            queue.publisher(lease: .seconds(10)).flatMap(maxPublishers: .max(1)) { value in
                Just(value).delay(for: 100, scheduler: world.scheduler)
            }, probe)
        await world.pass(100_000, in: process)
        #expect(probe.values == [1])
        let message = try #require(try await process.store.list(MessageQuery()).first)
        #expect(message.state == .done)
        #expect(message.attempt == 1)
        probe.cancel()
        await process.stillness.waitUntilIdle()
    }

    @Test func whoseLeaseIsLostIsCancelledAndTheNextComes() async throws {
        let (world, process, queue) = try await fixture([1, 2])
        let probe = Probe<Int, any Error>(demand: .max)
        let cancelled = Tally()
        await process.read(
            queue.publisher(lease: .seconds(9)).flatMap(maxPublishers: .max(1)) { value in
                Just(value).delay(for: 60, scheduler: world.scheduler)
                    .handleEvents(receiveCancel: { cancelled.add() })
            }, probe)
        try await process.store.cancelNow(
            .sequences(try await process.store.list(MessageQuery(limit: 1)).map(\.sequence)))
        await world.pass(3_000, in: process)
        #expect(cancelled.count == 1)
        await world.pass(60_000, in: process)
        #expect(probe.values == [2])
        probe.cancel()
        await process.stillness.waitUntilIdle()
    }

    @Test func whatIsWorkedOnGoesBackWhenNobodyWantsMore() async throws {
        let (world, process, queue) = try await fixture([1, 2, 3])
        let probe = Probe<Int, any Error>(demand: .max)
        await process.read(
            queue.publisher.flatMap(maxPublishers: .max(2)) { value in
                Just(value).delay(for: 1, scheduler: world.scheduler)
            }, probe)
        #expect(try await process.count(.leased) == 2)
        probe.cancel()
        await process.stillness.waitUntilIdle()
        #expect(try await process.count(.ready) == 3)
        await world.pass(2_000, in: process)
        #expect(probe.values == [])
        let messages = try await process.store.list(MessageQuery())
        #expect(messages.allSatisfy { $0.attempt == 0 })
    }

    @Test func demandIsHonouredExactly() async throws {
        let (_, process, queue) = try await fixture(Array(1...4))
        let probe = Probe<Int, any Error>(demand: 1)
        await process.read(
            queue.publisher.flatMap(maxPublishers: .max(1)) { value in [value, value * 10].publisher }, probe)
        #expect(probe.values == [1])
        #expect(try await process.count(.done) == 0)
        probe.request(2)
        await process.stillness.waitUntilIdle()
        #expect(probe.values == [1, 10, 2])
        // A work has ended when the last of its values was taken.
        #expect(try await process.count(.done) == 1)
        probe.request(.max)
        await process.stillness.waitUntilIdle()
        #expect(probe.values == [1, 10, 2, 20, 3, 30, 4, 40])
        #expect(try await process.count(.done) == 4)
        probe.cancel()
        await process.stillness.waitUntilIdle()
    }

    /// What was given while another thread speaks to the subscriber is not taken: it would be lost with the process.
    @Test func whatWaitsForASlowSubscriberIsNotSettled() async throws {
        let (_, process, queue) = try await fixture([1, 2])
        let works = [Source<Int, Never>(), Source<Int, Never>()]
        let heard = Tally()
        let mayReturn = DispatchSemaphore(value: 0)
        let probe = Probe<Int, any Error>(demand: .max) { _, _ in
            heard.add()
            mayReturn.wait()
            return 0
        }
        await process.read(queue.publisher.flatMap(maxPublishers: .max(2)) { works[$0 - 1] }, probe)
        let wait = onAnotherThread { works[0].send(10) }
        try await heard.wait(for: 1)
        works[1].send(20)
        works[1].send(completion: .finished)
        await process.stillness.waitUntilIdle()
        #expect(try await process.count(.done) == 0)
        probe.cancel()
        mayReturn.signal()
        wait()
        await process.stillness.waitUntilIdle()
        #expect(probe.values == [10])
        #expect(try await process.count(.ready) == 2)
    }

    /// A work is asked for the next value by the thread that speaks.
    @Test func aWorkThatAnswersAtOnceMayGiveManyValues() async throws {
        let (_, process, queue) = try await fixture([1])
        let probe = Probe<Int, any Error>(demand: .max)
        await process.read(queue.publisher.flatMap(maxPublishers: .max(1)) { _ in (1...10_000).publisher }, probe)
        #expect(probe.values.count == 10_000)
        #expect(try await process.count(.done) == 1)
        probe.cancel()
        await process.stillness.waitUntilIdle()
    }

    @Test func theEndWaitsForTheSubscription() {
        let subject = PassthroughSubject<Delivery<Int>, any Error>()
        expectTheEndToWaitForTheSubscription(subject.flatMap(maxPublishers: .max(1)) { value in Just(value) }) {
            subject.send(completion: .finished)
        }
    }

    @Test func aThreadThatAsksIsTheOneThatCancels() {
        let slow = SlowUpstream()
        let probe = Probe<Int, any Error>()
        let deliveries = slow.compactMap { _ -> Delivery<Int>? in nil }.setFailureType(to: (any Error).self)
        let wait = onAnotherThread {
            deliveries.flatMap(maxPublishers: .max(2)) { value in Just(value) }.subscribe(probe)
        }
        slow.isAsked.wait()
        probe.cancel()
        #expect(slow.cancels == 0)
        slow.mayReturn.signal()
        wait()
        #expect(slow.cancels == 1)
        #expect(slow.overlaps == 0)
    }

    @Test func aStoreThatCannotSettleFailsTheStream() async throws {
        let (world, process, queue) = try await fixture([1])
        let probe = Probe<Int, any Error>(demand: .max)
        await process.read(
            queue.publisher.flatMap(maxPublishers: .max(1)) { value in
                Just(value).delay(for: 1, scheduler: world.scheduler)
            }, probe)
        try await process.crash()
        await world.pass(1_000, in: process)
        #expect((probe.failure as? PenstockError)?.code == .closed)
        #expect(probe.completionCount == 1)
    }
}
