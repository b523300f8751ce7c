import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// Tasks that are cancelled while they hold what was read together: they are given nothing more of it.
@Suite(.timeLimit(.minutes(5))) struct CancelledTaskTests {
    let the = Fixture()

    /// What a task is given that is cancelled as it works the first element.
    private func given<Elements: AsyncSequence & Sendable>(
        _ elements: Elements, _ number: @escaping @Sendable (Elements.Element) throws -> Int
    ) async -> [Int] where Elements.Element: Sendable {
        await Task {
            var given: [Int] = []
            do {
                for try await element in elements {
                    withUnsafeCurrentTask { $0?.cancel() }
                    given.append(try number(element))
                }
            } catch is CancellationError {
                given.append(-1)
            } catch {
                Issue.record(error)
            }
            return given
        }.value
    }

    private func bus(_ isInMemory: Bool) async throws -> EventBus {
        isInMemory ? EventBus() : try await EventBus.open(in: the.store)
    }

    @Test(arguments: [true, false]) func ofAKindOfEvents(_ isInMemory: Bool) async throws {
        let bus = try await bus(isInMemory)
        let events = bus.subscribe(Placed.self)
        for number in 0..<300 { bus << Placed(id: number) }
        await bus.flush()
        let ids = await given(events) { $0.id }
        #expect(ids == [0])
        #expect(bus.hub.subscriberCount == 0)
    }

    @Test func ofANamedSubscription() async throws {
        let bus = try await EventBus.open(in: the.store)
        let events = bus.subscribe(Placed.self, named: "mailer")
        for number in 0..<300 { bus << Placed(id: number) }
        await bus.flush()
        let ids = await given(events) { $0.event.id }
        #expect(ids == [0])
        #expect(bus.hub.subscriberCount == 0)
    }

    /// What the task did with the event is done.
    @Test func whatItHasSettledIsSettledAlsoAtAServer() async throws {
        let the = Fixture(heedingCancellation)
        let bus = try await EventBus.open(in: the.store)
        var events = bus.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        try await bus.send(Placed(id: 0))
        let event = try #require(try await events.next())
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await event.settle()
        }
        try await task.value
        #expect(try await the.store.storage.status(of: nil).cursors.first?.sequence == event.sequence)
    }

    @Test func ofAReplaySubject() async throws {
        let subject = AsyncDurableReplaySubject(bufferSize: 50, in: try await the.queue())
        for number in 0..<50 { try await subject.send(number) }
        let numbers = await given(subject) { $0 }
        #expect(numbers == [0])
        #expect(subject.subscriberCount == 0)
    }

    @Test(arguments: [true, false], [nil, 10]) func ofAReplay(_ isInMemory: Bool, _ count: Int?) async throws {
        let bus = try await bus(isInMemory)
        for number in 0..<10 { bus << Placed(id: number) }
        await bus.flush()
        let seen = Gathered()
        let task = Task {
            try await bus.replay(count: count) { (event: Placed) in
                seen.add(event.id)
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(seen.all == [0])
    }

    /// The log of a queue says it with an error.
    @Test(arguments: [true, false]) func ofTheLogOfAQueue(_ follow: Bool) async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(0..<50))
        let numbers = await given(queue.log(follow: follow)) { try $0.payload() }
        #expect(numbers == [0, -1])
    }
}
