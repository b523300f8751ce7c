import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

@Suite(.timeLimit(.minutes(5))) struct NamedSubscriptionTests {
    let the = Fixture()

    private func cursor(_ store: PenstockStore? = nil) async throws -> CursorRecord? {
        try await (store ?? the.store).storage.status(of: nil).cursors.first
    }

    @Test func goesOnBehindTheLastSettledEvent() async throws {
        let bus = try await EventBus.open(in: the.store)
        bus << Placed(id: 0)
        let events = bus.subscribe(Placed.self, named: "mailer")
        for number in 1...5 { bus << Placed(id: number) }
        var iterator = events.makeAsyncIterator()
        for number in 1...4 {
            let event = try #require(try await iterator.next())
            #expect(event.event.id == number, "It begins with what is sent from its first time on.")
            if number <= 2 { try await event.settle() }
        }
        try await the.crash()

        let other = the.otherProcess()
        let again = try await EventBus.open(in: other)
        again << Placed(id: 6)
        var next = again.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        for number in 3...6 {
            let event = try #require(try await next.next())
            #expect(event.event.id == number)
            if number == 6 { try await event.settle() }
        }
        let last = try await other.list(MessageQuery(end: .last, limit: 1)).first?.sequence
        #expect(try await cursor(other)?.sequence == last, "Settling one settles those before it.")
    }

    @Test func aHandlerSettlesWhenItReturns() async throws {
        let bus = try await EventBus.open(in: the.store)
        let seen = Gathered()
        var token: EventSubscription? = bus.subscribe(Placed.self, named: "mailer") { seen.add($0.id) }
        for number in 1...10 { bus << Placed(id: number) }
        try await seen.count.wait(for: 10)
        let last = try await the.store.list(MessageQuery(end: .last, limit: 1)).first?.sequence
        try await eventually { try await cursor()?.sequence == last }
        token = nil
        try await eventually { bus.hub.subscriberCount == 0 }
        #expect(token == nil)
        // While it is away, events gather.
        for number in 11...20 { bus << Placed(id: number) }
        let more = bus.subscribe(Placed.self, named: "mailer") { seen.add($0.id) }
        try await seen.count.wait(for: 20)
        #expect(seen.all == Array(1...20))
        withExtendedLifetime(more) {}
    }

    @Test func aHandlerThatThrowsGetsTheEventAgainAndIsGivenUpInTheEnd() async throws {
        let kinds = Mutex<[String]>([])
        let bus = try await EventBus.open(in: the.store) { failure in
            kinds.withLock { $0.append("\(failure.kind)") }
        }
        let queue = try await the.store.queue("events", create: false)
        var policy = try await queue.status().policy
        policy.retry = RetryPolicy(attemptsMax: 3, base: .seconds(1), factor: 2, cap: .seconds(9), jitter: 0)
        try await queue.setPolicy(policy)
        let seen = Gathered()
        let times = Mutex<[Timestamp]>([])
        let time = the.time
        let token = bus.subscribe(Placed.self, named: "mailer") { event in
            times.withLock { $0.append(time.now) }
            seen.add(event.id)
            if event.id == 1 { throw NoGood() }
            if event.id == 2 { throw Reject("never") }
        }
        for number in 1...3 { bus << Placed(id: number) }
        try await eventually {
            if seen.count.count < 3 { the.time.advanceToNextDeadline() }
            return seen.count.count == 5
        }
        #expect(seen.all == [1, 1, 1, 2, 3])
        let waits = times.withLock { zip($0, $0.dropFirst()).map { $1 - $0 } }
        #expect(waits[0] >= .seconds(1) && waits[1] >= .seconds(2))
        try await eventually { try await cursor()?.missed == 2 }
        #expect(kinds.withLock { $0 } == ["handler", "handler", "gaveUp", "gaveUp"])
        withExtendedLifetime(token) {}
    }

    @Test func eventsOfOtherKindsArePassedOverOnRecord() async throws {
        let bus = try await EventBus.open(in: the.store, bufferLength: 5)
        let seen = Gathered()
        let token = bus.subscribe(Placed.self, named: "mailer") { seen.add($0.id) }
        try await bus.send(Placed(id: 1))
        try await seen.count.wait(for: 1)
        for number in 1...4 { try await bus.send(Shipped(id: number, price: 0)) }
        let last = try await the.store.list(MessageQuery(end: .last, limit: 1)).first?.sequence
        try await eventually { try await cursor()?.sequence == last }
        for number in 1...9 { try await bus.send(Shipped(id: number, price: 0)) }
        withExtendedLifetime(token) {}
    }

    @Test func whatTheBusNoLongerKeepsIsMissedAndCounted() async throws {
        let bus = try await EventBus.open(in: the.store, bufferLength: 3)
        var iterator = bus.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        await bus.flush()
        for number in 1...10 { try await bus.send(Placed(id: number)) }
        try await bus.setBufferLength(3)
        var seen: [Int] = []
        while seen.last != 10, let event = try await iterator.next() {
            seen.append(event.event.id)
            try await event.settle()
        }
        #expect(seen == [8, 9, 10])
        #expect(try await cursor()?.missed == 7)
    }

    /// Two versions of a program may say different lengths as they open it.
    @Test(arguments: [2, 4, 1000]) func anotherLengthTakesNothingFromWhoIsBehind(_ length: Int) async throws {
        let bus = try await EventBus.open(in: the.store, bufferLength: 3)
        _ = bus.subscribe(Placed.self, named: "mailer")
        await bus.flush()
        for number in 1...10 { try await bus.send(Placed(id: number)) }
        let next = try await EventBus.open(in: the.otherProcess(), bufferLength: length)
        if length > 3 { try await next.setBufferLength(length + 1) }
        var iterator = next.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        for number in 1...10 {
            let event = try #require(try await iterator.next())
            #expect(event.event.id == number)
            try await event.settle()
        }
        #expect(try await cursor()?.missed == 0)
        let seen = Gathered()
        try await next.replay { (event: Placed) in seen.add(event.id) }
        #expect(seen.all == Array(1...10).suffix(length > 3 ? length + 1 : length))
    }

    /// Its events would be read as the other type's, and its place go by them.
    @Test func aTypeWhoseNameAnotherHasIsRefused() async throws {
        let told = Mutex<[EventBusFailure.Kind]>([])
        let bus = try await EventBus.open(in: the.store, types: [FirstShape.self]) { failure in
            told.withLock { $0.append(failure.kind) }
        }
        func expectRefusal(_ body: () async throws -> Void) async {
            let error = await #expect(throws: PenstockError.self) { try await body() }
            #expect(error?.code == .invalidInput && error?.message.contains("Two types of events") == true)
        }
        await expectRefusal {
            var named = bus.subscribe(SecondShape.self, named: "mailer").makeAsyncIterator()
            _ = try await named.next()
        }
        await expectRefusal {
            var events = bus.subscribe(SecondShape.self).makeAsyncIterator()
            _ = try await events.next()
        }
        await expectRefusal { try await bus.replay { (_: SecondShape) in } }
        #expect(try await cursor() == nil)
        for token in [
            bus.subscribe(SecondShape.self) { _ in }, bus.subscribe(SecondShape.self, named: "mailer") { _ in },
        ] {
            await token.waitForEnd()
        }
        #expect(told.withLock { $0 } == [.subscription, .subscription])
    }

    /// What others change of the queue's policy at the same time stays.
    @Test func aLengthUndoesNoOtherChange() async throws {
        let storage = InterleavedStore(InMemoryStore())
        let store = PenstockStore(storage)
        let bus = try await EventBus.open(in: store)
        let queue = try #require(try await store.queues().first)
        storage.afterNext(.status) {
            var policy = queue.policy
            policy.retry.attemptsMax = 7
            try await $0.configure(queue.name, .set(policy))
        }
        try await bus.setBufferLength(5)
        let policy = try #require(try await store.queues().first?.policy)
        #expect(policy.retry.attemptsMax == 7 && policy.retention.count == 5 + EventBus.backlogOnStore)
    }

    @Test func twoUnderOneNameGiveEachEventToAtLeastOne() async throws {
        let buses = [try await EventBus.open(in: the.store), try await EventBus.open(in: the.otherProcess())]
        let seen = Gathered()
        let done = Mutex<Set<Int>>([])
        let tokens = buses.map { bus in
            bus.subscribe(Placed.self, named: "mailer") { event in
                done.withLock { _ = $0.insert(event.id) }
                seen.add(event.id)
            }
        }
        try await eventually { buses.allSatisfy { $0.hub.subscriberCount == 1 } }
        for number in 1...200 { buses[number % 2] << Placed(id: number) }
        try await eventually { done.withLock { $0.count == 200 } }
        tokens[0].cancel()
        for number in 201...210 { buses[0] << Placed(id: number) }
        try await eventually { done.withLock { $0.count == 210 } }
        #expect(seen.all.count <= 2 * 210)
        withExtendedLifetime(tokens) {}
    }

    /// Its handler took longer than the other's.
    @Test func whatAnotherHasSettledIsNotMissedByOneThatGivesItUp() async throws {
        let kinds = Mutex<[String]>([])
        let bus = try await EventBus.open(in: the.store) { failure in
            kinds.withLock { $0.append("\(failure.kind)") }
        }
        let (seen, settled) = (Gathered(), Tally())
        let token = bus.subscribe(Placed.self, named: "mailer") { event in
            seen.add(event.id)
            guard event.id == 1 else { return }
            try await settled.wait(for: 1)
            throw Reject("never")
        }
        await bus.flush()
        let other = try await EventBus.open(in: the.otherProcess())
        var iterator = other.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        try await bus.send(Placed(id: 1))
        try await seen.count.wait(for: 1)
        let event = try #require(try await iterator.next())
        try await event.settle()
        settled.add()
        try await bus.send(Placed(id: 2))
        // The handler has it once it is through with the first one.
        try await seen.count.wait(for: 2)
        #expect(try await cursor()?.missed == 0)
        #expect(kinds.withLock { $0 } == ["handler"], "The event is settled, and not passed over.")
        withExtendedLifetime(token) {}
    }

    @Test func aSubscriptionThatIsRemovedIsOver() async throws {
        let bus = try await EventBus.open(in: the.store)
        var iterator = bus.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        await bus.flush()
        try await bus.send(Placed(id: 1))
        let event = try #require(try await iterator.next())
        #expect(try await bus.removeSubscription(named: "mailer"))
        #expect(try await !bus.removeSubscription(named: "mailer"))
        let error = await #expect(throws: PenstockError.self) { try await event.settle() }
        #expect(error?.code == .unknownCursor)
    }

    @Test func aStorageFaultWhenSettlingEndsTheHandlerAndNothingIsLost() async throws {
        let failed = Tally()
        let bus = try await EventBus.open(in: the.store) { failure in
            if case .subscription = failure.kind { failed.add() }
        }
        let seen = Gathered()
        let token = bus.subscribe(Placed.self, named: "mailer") { seen.add($0.id) }
        try await bus.send(Placed(id: 1))
        try await seen.count.wait(for: 1)
        try await the.calls.calls(of: .moveCursor).wait(for: 2)
        the.calls.fail(.moveCursor)
        try await bus.send(Placed(id: 2))
        try await failed.wait(for: 1)
        await token.waitForEnd()
        #expect(bus.hub.subscriberCount == 0, "Nobody takes what would be read for it.")
        let again = bus.subscribe(Placed.self, named: "mailer") { seen.add($0.id) }
        try await seen.count.wait(for: 3)
        #expect(seen.all == [1, 2, 2])
        withExtendedLifetime(again) {}
    }
}

private struct NoGood: Error {}
