import Foundation
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// What is so on a store only.
@Suite(.timeLimit(.minutes(5))) struct EventBusOnAStoreTests {
    let the = Fixture()

    private func take(_ count: Int, of events: EventSequence<Placed>) async throws -> [Int] {
        var ids: [Int] = []
        for try await event in events {
            ids.append(event.id)
            if ids.count == count { break }
        }
        return ids
    }

    @Test func copiesOfAnIteratorShareTheSubscription() async throws {
        let bus = try await EventBus.open(in: the.store)
        var events = bus.subscribe(Placed.self).makeAsyncIterator()
        var named = bus.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        for number in 1...4 { bus << Placed(id: number) }
        var copyOfEvents = events
        var copyOfNamed = named
        for number in [1, 3] {
            #expect(try await events.next()?.id == number)
            #expect(try await copyOfEvents.next()?.id == number + 1)
            #expect(try await named.next()?.event.id == number)
            #expect(try await copyOfNamed.next()?.event.id == number + 1)
        }
    }

    @Test func otherProcessesReceiveWhatIsSent() async throws {
        let buses = [
            try await EventBus.open(in: the.store), try await EventBus.open(in: the.otherProcess()),
        ]
        let seen = [Gathered(), Gathered()]
        let tokens = zip(buses, seen).map { bus, seen in bus >> { (event: Placed) in seen.add(event.id) } }
        try await eventually { buses.allSatisfy { $0.hub.subscriberCount == 1 } }
        for number in 1...40 { buses[number % 2] << Placed(id: number) }
        for one in seen { try await one.count.wait(for: 40) }
        #expect(seen[0].all == seen[1].all, "The order is the log's.")
        #expect(seen[0].all.filter { $0 % 2 == 0 } == Array(stride(from: 2, through: 40, by: 2)))
        withExtendedLifetime(tokens) {}
    }

    @Test func anEventIsARowThatPeopleCanRead() async throws {
        let bus = try await EventBus.open(in: the.store, named: "shop")
        let sequence = try await bus.send(Shipped(id: 7, price: 9))
        let record = try await the.store.message(sequence)
        #expect(record.queue.text == "shop")
        #expect(record.state == .done)
        #expect(record.headers == ["event": "Shipped"])
        #expect(record.payload.map { String(decoding: $0, as: UTF8.self) } == #"{"id":7,"price":9}"#)
    }

    @Test func anUnknownEventIsKeptCountedAndPassedOver() async throws {
        let sender = try await EventBus.open(in: the.otherProcess())
        let bus = try await EventBus.open(in: the.store)
        let placed = bus.subscribe(Placed.self)
        let unknown = bus.subscribe(UnknownEvent.self)
        let all = bus.subscribe(EventRecord.self)
        // Now the subscriptions stand: what another process sends from here on is theirs.
        await bus.flush()
        try await sender.send(Placed(id: 1))
        try await sender.send(Shipped(id: 2, price: 3))
        let raw = try await the.store.queue("events")
        let nonsense = NewMessage(payload: Array("{}".utf8), headers: ["event": "Placed"])
        _ = try await raw.storage.append([nonsense], to: raw.name, unless: nil, durability: .powerLoss)
        try await sender.send(Placed(id: 4))
        #expect(try await take(2, of: placed) == [1, 4])

        var iterator = unknown.makeAsyncIterator()
        let first = try #require(try await iterator.next()).record
        #expect(first.name == "Shipped" && first.event == nil && first.unknownBecause != nil)
        #expect(first.payload == Array(#"{"id":2,"price":3}"#.utf8))
        let second = try #require(try await iterator.next()).record
        #expect(second.name == "Placed" && second.unknownBecause?.contains("cannot be read") == true)
        var names: [String] = []
        for try await record in all {
            names.append(record.name)
            if names.count == 4 { break }
        }
        #expect(names == ["Placed", "Shipped", "Placed", "Placed"])
        #expect(bus.unknownCount == 2)
        // Once its type is known, it is there.
        let shipped = Gathered()
        try await bus.replay { (event: Shipped) in shipped.add(event.id) }
        #expect(shipped.all == [2])
    }

    @Test func theBufferIsTheLogsOfAllProcesses() async throws {
        let bus = try await EventBus.open(in: the.store, bufferLength: 4)
        let other = try await EventBus.open(in: the.otherProcess())
        #expect(other.bufferLength == 4)
        for number in 1...9 { bus << Placed(id: number) }
        await bus.flush()
        func rows() async throws -> Int { try await the.store.list(MessageQuery(queue: QueueName("events"))).count }
        #expect(try await rows() == 9, "A few more than the buffer has, for those that are behind.")
        try await other.setBufferLength(2)
        #expect(try await rows() == 2)
        let seen = Gathered()
        try await bus.replay { (event: Placed) in seen.add(event.id) }
        #expect(seen.all == [8, 9])
        #expect(try await EventBus.open(in: the.store).bufferLength == 2)
    }

    @Test func aSmallerLengthWaitsForWhoIsFurtherBehindThanItReaches() async throws {
        let count = EventBus.backlogOnStore + 10
        let bus = try await EventBus.open(in: the.store, bufferLength: 100)
        _ = bus.subscribe(Placed.self, named: "mailer")
        await bus.flush()
        for number in 1..<count { bus << Placed(id: number) }
        await bus.flush()
        let next = try await EventBus.open(in: the.otherProcess(), bufferLength: 2)
        #expect(next.bufferLength == 100)
        try await next.send(Placed(id: count))
        var iterator = next.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        for number in 1...count {
            let event = try #require(try await iterator.next())
            #expect(event.event.id == number)
            if number == count { try await event.settle() }
        }
        #expect(try await the.store.storage.status(of: nil).cursors.map(\.missed) == [0])
        // The subscription has had everything, and needs no more than the smaller one.
        #expect(try await EventBus.open(in: the.store, bufferLength: 2).bufferLength == 2)
    }

    /// A store at a server, by a token that may not read: it is told of no cursors.
    private struct UnreadStore: ForwardingStore {
        let base: any MessageStore

        func log(_ query: LogQuery) async throws -> LogPage { throw PenstockError(.forbidden, "No.") }

        func status(of queue: QueueName?) async throws -> StoreStatus {
            var status = try await base.status(of: queue)
            status.cursors = []
            return status
        }
    }

    @Test func aProgramThatMayNotReadMakesNoBusSmaller() async throws {
        let bus = try await EventBus.open(in: the.store, bufferLength: 100)
        _ = bus.subscribe(Placed.self, named: "mailer")
        await bus.flush()
        let unread = PenstockStore(UnreadStore(base: the.base), options: .init(time: the.time))
        let refusal = await #expect(throws: PenstockError.self) {
            try await EventBus.open(in: unread, bufferLength: 2)
        }
        #expect(refusal?.code == .forbidden)
        #expect(try await EventBus.open(in: the.otherProcess()).bufferLength == 100)
        #expect(try await EventBus.open(in: unread, bufferLength: 100).bufferLength == 100)
    }

    /// The first ones are forgotten between the look at the end and the first page.
    @Test(.inMemory) func aLongReplayMissesNothingThatIsKept() async throws {
        let (length, sent) = (Limits.rowsMax + 20, Limits.rowsMax + 60)
        let the = Fixture { base in
            readLate(
                base,
                beforeLog: { query in
                    guard query.limit > 1 else { return }
                    _ = try await base.prune(
                        PruneRequest(queue: query.queue, retention: Retention(age: nil, count: length), limit: 1000))
                })
        }
        let bus = try await EventBus.open(in: the.store, bufferLength: length)
        for number in 1...sent {
            bus << Placed(id: number)
            if number % 1000 == 0 { await bus.flush() }
        }
        await bus.flush()
        let seen = Gathered()
        try await bus.replay { (event: Placed) in seen.add(event.id) }
        #expect(seen.all == Array(sent - length + 1...sent))
    }

    @Test func whatCannotBeHandedOverIsToldOf() async throws {
        struct Endless: Event {
            var value = Double.infinity
        }
        let failures = Mutex<[String]>([])
        let told = Tally()
        let bus = try await EventBus.open(in: the.store) { failure in
            failures.withLock { $0.append("\(failure.kind) \(failure.eventName ?? "")") }
            told.add()
        }
        bus << Endless()
        try await told.wait(for: 1)
        await #expect(throws: EncodingError.self) { try await bus.send(Endless()) }
        the.calls.fail(.append, with: PenstockError(.diskFull, "No room."))
        bus << Placed(id: 1)
        await bus.flush()
        #expect(failures.withLock { $0 } == ["handOver Endless", "handOver Placed"])
        the.calls.fail(.append, with: PenstockError(.diskFull, "No room."))
        let error = await #expect(throws: PenstockError.self) { try await bus.send(Placed(id: 2)) }
        #expect(error?.code == .diskFull)
        try await bus.send(Placed(id: 3))
    }

    @Test func closingTheStoreWritesWhatWasHandedOver() async throws {
        do {
            let bus = try await EventBus.open(in: the.store)
            for number in 1...500 { bus << Placed(id: number) }
        }
        try await the.store.close()
        let bus = try await EventBus.open(in: the.otherProcess())
        let seen = Gathered()
        try await bus.replay { (event: Placed) in seen.add(event.id) }
        #expect(seen.all == Array(1...500))
    }

    @Test func aStorageFaultEndsSubscriptionsAndIsToldOf() async throws {
        let failures = Gathered()
        let bus = try await EventBus.open(in: the.store) { failure in
            if case .subscription = failure.kind { failures.add(0) }
        }
        let token = bus >> { (_: Placed) in }
        var iterator = bus.subscribe(Placed.self).makeAsyncIterator()
        try await eventually { bus.hub.subscriberCount == 1 }
        try await bus.send(Placed(id: 1))
        #expect(try await iterator.next() == Placed(id: 1))
        the.calls.fail(.log)
        the.base.changes.ring(nil)
        await #expect(throws: PenstockError.self) { try await iterator.next() }
        try await failures.count.wait(for: 1)
        await token.waitForEnd()
        // Whoever subscribes again goes on.
        let seen = Gathered()
        let again = bus >> { (event: Placed) in seen.add(event.id) }
        bus << Placed(id: 2)
        try await seen.count.wait(for: 1)
        withExtendedLifetime((token, again)) {}
    }

    @Test func aNamedSubscriptionWhosePlaceCannotBeWrittenIsOver() async throws {
        let bus = try await EventBus.open(in: the.store)
        let events = bus.subscribe(Placed.self, named: "mailer")
        await bus.flush()
        try await bus.send(Shipped(id: 1, price: 2))
        the.calls.fail(.moveCursor)
        var iterator = events.makeAsyncIterator()
        await #expect(throws: PenstockError.self) { try await iterator.next() }
        #expect(bus.hub.subscriberCount == 0)
        #expect(try await iterator.next() == nil)
    }

    @Test func aBadNameOrLengthIsRefused() async throws {
        await #expect(throws: PenstockError.self) { try await EventBus.open(in: the.store, named: "") }
        await #expect(throws: PenstockError.self) { try await EventBus.open(in: the.store, bufferLength: -1) }
        let bus = try await EventBus.open(in: the.store)
        var iterator = bus.subscribe(Placed.self, named: "a\n").makeAsyncIterator()
        await #expect(throws: PenstockError.self) { try await iterator.next() }
    }
}
