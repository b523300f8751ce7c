import Dispatch
import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

@Suite(.timeLimit(.minutes(5))) struct QueuePublisherTests {
    private typealias Reader = Probe<Delivery<Int>, any Error>

    @Test(arguments: World.Kind.allCases)
    func asManyAreClaimedAsAreAskedFor(kind: World.Kind) async throws {
        let world = World(kind)
        let process = try await world.open()
        let queue = try await process.store.queue("q", of: Int.self)
        _ = try await queue.enqueue(contentsOf: Array(1...10))
        let reader = Reader()
        await process.read(queue.publisher, reader)
        #expect(try await process.count(.leased) == 0)
        reader.request(3)
        await process.stillness.waitUntilIdle()
        #expect(reader.values.map(\.payload) == [1, 2, 3])
        #expect(try await process.count(.leased) == 3)
        reader.request(2)
        await process.stillness.waitUntilIdle()
        #expect(reader.values.map(\.payload) == [1, 2, 3, 4, 5])
        #expect(try await process.count(.leased) == 5)
        reader.cancel()
        try await process.crash()
    }

    @Test func whatComesLaterIsGivenToWhoWaits() async throws {
        let world = World(.memory)
        let process = try await world.open()
        let queue = try await process.store.queue("q", of: Int.self)
        let reader = Reader(demand: 2)
        await process.read(queue.publisher, reader)
        _ = try await queue.enqueue(1)
        await process.stillness.waitUntilIdle()
        _ = try await queue.enqueue(2, options: .init(due: .after(.seconds(5))))
        _ = try await queue.enqueue(3, options: .init(due: .after(.seconds(6))))
        await world.pass(5_000, in: process)
        #expect(reader.values.map(\.payload) == [1, 2])
        await world.pass(5_000, in: process)
        #expect(reader.values.count == 2)
        reader.cancel()
        await process.stillness.waitUntilIdle()
    }

    @Test func ofAnUnlimitedDemandOnlySoManyAreHeld() async throws {
        let world = World(.memory)
        let process = try await world.open()
        let queue = try await process.store.queue("q", of: Int.self)
        _ = try await queue.enqueue(contentsOf: Array(1...5))
        let reader = Reader(demand: .max)
        await process.read(queue.publisher(inFlightMax: 2), reader)
        #expect(reader.values.map(\.payload) == [1, 2])
        try await reader.values[0].done()
        await process.stillness.waitUntilIdle()
        #expect(reader.values.map(\.payload) == [1, 2, 3])
        reader.cancel()
        await process.stillness.waitUntilIdle()
    }

    @Test func whatCannotBeDecodedIsADeadLetterAndDoesNotCount() async throws {
        let world = World(.memory)
        let process = try await world.open()
        let bytes = try await process.store.queue("q")
        _ = try await bytes.enqueue(Array("no number".utf8))
        let queue = try await process.store.queue("q", of: Int.self)
        _ = try await queue.enqueue(7)
        let reader = Reader(demand: 1)
        await process.read(queue.publisher, reader)
        #expect(reader.values.map(\.payload) == [7])
        #expect(try await process.count(.dead) == 1)
        reader.cancel()
        await process.stillness.waitUntilIdle()
    }

    @Test func whatWasClaimedAndNotWantedGoesBack() async throws {
        let world = World(.memory)
        let process = try await world.open()
        let queue = try await process.store.queue("q", of: Int.self)
        _ = try await queue.enqueue(contentsOf: [1, 2, 3])
        let reader = Reader(demand: 3) { reader, _ in
            reader.cancel()
            return 0
        }
        await process.read(queue.publisher, reader)
        #expect(reader.values.map(\.payload) == [1])
        // In a task of its own, which is no cancelled one.
        try await eventually { try await process.count(.ready) == 2 }
        #expect(try await process.count(.leased) == 1)
        #expect(reader.completionCount == 0)
    }

    @Test func storageErrorsAreFailures() async throws {
        let world = World(.memory)
        let process = try await world.open()
        let queue = try await process.store.queue("q", of: Int.self)
        try await process.crash()
        let reader = Reader(demand: 1)
        await process.read(queue.publisher, reader)
        #expect((reader.failure as? PenstockError)?.code == .closed)

        let open = try await world.open()
        let other = try await open.store.queue("q", of: Int.self)
        let mistaken = Reader(demand: 1)
        await open.read(other.publisher(inFlightMax: 0), mistaken)
        #expect((mistaken.failure as? PenstockError)?.code == .invalidInput)
    }

    /// A subscriber that holds up the thread that gives it deliveries, until an earlier one is done.
    @Test func aVerdictDoesNotWaitForTheSubscriber() async throws {
        let process = try await World(.memory).open()
        let queue = try await process.store.queue("q", of: Int.self)
        _ = try await queue.enqueue(contentsOf: [1, 2])
        let (done, inTime, ended) = (DispatchSemaphore(value: 0), Tally(), Tally())
        let subscription = queue.publisher(inFlightMax: 2).sink(
            receiveCompletion: { _ in },
            receiveValue: { delivery in
                if delivery.payload == 1 {
                    Task {
                        try await delivery.done()
                        done.signal()
                    }
                } else {
                    if done.wait(timeout: .now() + 120) == .success { inTime.add() }
                    ended.add()
                }
            })
        try await ended.wait(for: 1)
        #expect(inTime.count == 1, "The first delivery was done while the second was worked on.")
        subscription.cancel()
        try await process.crash()
    }
}
