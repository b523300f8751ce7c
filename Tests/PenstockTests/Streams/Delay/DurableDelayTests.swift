import Penstock
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct DurableDelayTests {
    private struct Arrival: Equatable {
        var value: Int
        var seconds: Double
    }

    /// What comes out of a delay and when, in one process that ends or is killed.
    private func run(
        _ world: World, _ source: some AsyncSequence<Int, any Error> & Sendable, began: Timestamp,
        holding heldMax: Int = 100, until moment: Duration? = nil
    ) async throws -> (out: [Arrival], failure: (any Error)?, finished: Double) {
        let storage = try await world.open()
        let executor = IdleExecutor(isSerial: true)
        let queue = try await world.store(WatchedStore(storage, executor, ringsItself: true)).queue("q", of: Int.self)
        let time = world.time
        let out = Tape()
        let consumer = Task(executorPreference: executor) { () -> (failure: (any Error)?, finished: Double) in
            var failure: (any Error)?
            do {
                for try await delivery in source.delay(for: .seconds(3), holding: heldMax, in: queue) {
                    out.arrivals.withLock {
                        $0.append(Arrival(value: delivery.payload, seconds: (time.now - began) / .seconds(1)))
                    }
                    try await delivery.done()
                }
            } catch {
                failure = error
            }
            return (failure, (time.now - began) / .seconds(1))
        }
        await executor.run(time, to: moment.map { began + $0 })
        if moment != nil {
            try await world.crash(storage)
            consumer.cancel()
        }
        let (failure, finished) = await consumer.value
        if moment == nil { try await storage.close() }
        return (out.arrivals.withLock { $0 }, failure, finished)
    }

    private final class Tape: Sendable {
        let arrivals = Mutex<[Arrival]>([])
    }

    @Test(arguments: World.Kind.allCases)
    func valuesAndTheFinishComeLaterByTheInterval(kind: World.Kind) async throws {
        let world = World(kind)
        let ticks = Ticks(range: 1...3, interval: .seconds(1), time: world.time).throwing
        let (out, failure, finished) = try await run(world, ticks, began: world.time.now)
        #expect(out == [.init(value: 1, seconds: 4), .init(value: 2, seconds: 5), .init(value: 3, seconds: 6)])
        #expect(failure == nil)
        #expect(finished == 6)
    }

    @Test func theFinishIsDelayedThoughNothingCame() async throws {
        let world = World(.memory)
        let (out, _, finished) = try await run(world, AtOnce([]).throwing, began: world.time.now)
        #expect(out.isEmpty)
        #expect(finished == 3)
    }

    @Test func aFailureIsNotDelayedAndWhatIsHeldStays() async throws {
        let world = World(.memory)
        let began = world.time.now
        let (out, failure, finished) = try await run(world, Failing(values: [1, 2]).throwing, began: began)
        #expect(out.isEmpty)
        #expect(failure is Failing.Broken)
        #expect(finished == 0)
        let (rest, _, _) = try await run(world, AtOnce([]).throwing, began: began)
        #expect(rest == [.init(value: 1, seconds: 3), .init(value: 2, seconds: 3)])
    }

    @Test(arguments: World.Kind.allCases)
    func whatWasLeftOfADelayGoesOnAfterARestart(kind: World.Kind) async throws {
        let world = World(kind)
        let began = world.time.now
        let ticks = Ticks(range: 1...3, interval: .seconds(1), time: world.time).throwing
        let (before, _, _) = try await run(world, ticks, began: began, until: .milliseconds(4_500))
        #expect(before == [.init(value: 1, seconds: 4)])
        let (after, _, finished) = try await run(world, AtOnce([4]).throwing, began: began)
        #expect(
            after == [
                .init(value: 2, seconds: 5), .init(value: 3, seconds: 6), .init(value: 4, seconds: 7.5),
            ])
        #expect(finished == 7.5)
    }

    @Test func whatIsDueWhileNobodyRunsComesAtOnce() async throws {
        let world = World(.memory)
        let began = world.time.now
        _ = try await run(world, AtOnce([1, 2]).throwing, began: began, until: .seconds(1))
        world.time.advance(to: began + .seconds(60))
        let (out, _, _) = try await run(world, AtOnce([]).throwing, began: began)
        #expect(out == [.init(value: 1, seconds: 60), .init(value: 2, seconds: 60)])
    }

    @Test func upstreamWaitsWhileAsManyAreHeldAsMayBe() async throws {
        let world = World(.memory)
        let (out, _, _) = try await run(world, AtOnce(1...4).throwing, began: world.time.now, holding: 2)
        #expect(out.map(\.seconds) == [3, 3, 6, 6])
        #expect(out.map(\.value) == [1, 2, 3, 4])
    }

    @Test func flatMapWorksOnWhatIsDue() async throws {
        let fixture = Fixture()
        let queue = try await fixture.queue()
        let streaming = Streaming(time: fixture.time)
        let (values, failure) = await streaming(
            AtOnce(1...5).delay(for: .seconds(2), in: queue).flatMap(maxConcurrent: 2, streaming.work(.seconds(1))))
        #expect(values == [1, 2, 3, 4, 5])
        #expect(failure == nil)
        #expect(try await queue.status().totals.done == 5)
    }
}

extension AsyncSequence where Self: Sendable {
    /// The same, with any failure.
    fileprivate var throwing: AsyncThrowingMapSequence<Self, Element> {
        map { value in
            try Task.checkCancellation()
            return value
        }
    }
}
