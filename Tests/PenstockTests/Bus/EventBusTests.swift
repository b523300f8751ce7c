import Foundation
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

struct Placed: Event, Equatable {
    var id: Int
}

struct Shipped: Event, Paid, Equatable {
    var id: Int
    var price: Int
}

struct Refunded: Event, Paid {
    var price: Int
}

protocol Paid: Sendable {
    var price: Int { get }
}

/// What the bus does the same in memory and on a store.
@Suite(.timeLimit(.minutes(5))) struct EventBusTests {
    enum Kind: CaseIterable { case memory, store }

    let the = Fixture()

    /// With a buffer that is smaller than what most tests send: live events do not depend on it.
    private func bus(_ kind: Kind, bufferLength: Int = 10) async throws -> EventBus {
        switch kind {
        case .memory: EventBus(bufferLength: bufferLength)
        case .store:
            try await EventBus.open(
                in: the.store, types: [Placed.self, Shipped.self, Refunded.self], bufferLength: bufferLength)
        }
    }

    @Test(arguments: Kind.allCases)
    func aHandlerGetsItsKindInOrder(_ kind: Kind) async throws {
        let bus = try await bus(kind)
        bus << Placed(id: 0)
        let placed = Gathered()
        let token = bus >> { (event: Placed) in placed.add(event.id) }
        for number in 1...100 {
            bus << Placed(id: number)
            bus << Shipped(id: number, price: 1)
        }
        try await bus.send(Placed(id: 101))
        try await placed.count.wait(for: 101)
        #expect(placed.all == Array(1...101), "From its subscription on, and not what was sent before.")
        token.cancel()
    }

    @Test(arguments: Kind.allCases)
    func aSecondIteratorGetsNothingAndTakesNothing(_ kind: Kind) async throws {
        let bus = try await bus(kind)
        let events = bus.subscribe(Placed.self)
        var (first, second) = (events.makeAsyncIterator(), events.makeAsyncIterator())
        try await bus.send(Placed(id: 1))
        #expect(try await first.next()?.id == 1)
        #expect(try await second.next() == nil)
        try await bus.send(Placed(id: 2))
        #expect(try await first.next()?.id == 2)
        #expect(try await second.next() == nil)
    }

    @Test(arguments: Kind.allCases)
    func aProtocolGetsAllThatConform(_ kind: Kind) async throws {
        let bus = try await bus(kind)
        let paid = Gathered()
        let all = Gathered()
        let tokens = [
            bus >> { (event: any Paid) in paid.add(event.price) }, bus >> { (_: any Event) in all.add(0) },
        ]
        bus << Placed(id: 1)
        bus << Shipped(id: 1, price: 5)
        bus << Refunded(price: 7)
        try await all.count.wait(for: 3)
        try await paid.count.wait(for: 2)
        #expect(paid.all == [5, 7])
        withExtendedLifetime(tokens) {}
    }

    @Test(arguments: Kind.allCases)
    func aSequenceGetsItsKindAndEndsWhenItIsCancelled(_ kind: Kind) async throws {
        let bus = try await bus(kind)
        let events = bus.subscribe(Placed.self)
        for number in 1...3 { bus << Placed(id: number) }
        bus << Shipped(id: 1, price: 1)
        var iterator = events.makeAsyncIterator()
        for number in 1...3 { #expect(try await iterator.next() == Placed(id: number)) }
        let waiting = Task {
            var iterator = bus.subscribe(Placed.self).makeAsyncIterator()
            return try await iterator.next()
        }
        try await eventually { bus.hub.subscriberCount == 2 }
        waiting.cancel()
        #expect(try await waiting.value == nil)
        events.cancel()
        #expect(try await iterator.next() == nil)
        #expect(bus.hub.subscriberCount == 0)
        var second = events.makeAsyncIterator()
        #expect(try await second.next() == nil)
    }

    @Test(arguments: Kind.allCases)
    func letGoATokenReleasesItsHandler(_ kind: Kind) async throws {
        final class Captured: Sendable {
            let gone: Tally
            init(_ gone: Tally) { self.gone = gone }
            deinit { gone.add() }
        }
        let bus = try await bus(kind)
        let gone = Tally()
        let seen = Gathered()
        do {
            let captured = Captured(gone)
            let token = bus >> { (event: Placed) in withExtendedLifetime(captured) { seen.add(event.id) } }
            bus << Placed(id: 1)
            try await seen.count.wait(for: 1)
            withExtendedLifetime(token) {}
        }
        try await gone.wait(for: 1)
        bus << Placed(id: 2)
        await bus.flush()
        #expect(seen.all == [1])
        #expect(bus.hub.subscriberCount == 0)
    }

    @Test(arguments: Kind.allCases)
    func replayGivesTheLastOfAKindOldestFirst(_ kind: Kind) async throws {
        let bus = try await bus(kind, bufferLength: 6)
        for number in 1...5 {
            bus << Placed(id: number)
            bus << Shipped(id: number, price: number)
        }
        func replayed(_ count: Int?) async throws -> [Int] {
            let seen = Gathered()
            try await bus.replay(count: count) { (event: Placed) in seen.add(event.id) }
            return seen.all
        }
        #expect(try await replayed(2) == [4, 5])
        #expect(try await replayed(nil) == [3, 4, 5])
        #expect(try await replayed(99) == [3, 4, 5])
        #expect(try await replayed(0) == [])
        await #expect(throws: PenstockError.self) { _ = try await replayed(-1) }
    }

    @Test(arguments: Kind.allCases)
    func aSmallerBufferTruncatesAtOnce(_ kind: Kind) async throws {
        let bus = try await bus(kind)
        for number in 1...9 { bus << Placed(id: number) }
        func kept() async throws -> [Int] {
            let seen = Gathered()
            try await bus.replay { (event: Placed) in seen.add(event.id) }
            return seen.all
        }
        #expect(try await kept() == Array(1...9))
        try await bus.setBufferLength(3)
        #expect(bus.bufferLength == 3)
        #expect(try await kept() == [7, 8, 9])
        try await bus.setBufferLength(5)
        #expect(try await kept() == [7, 8, 9], "What is gone is gone.")
        for number in 10...13 { bus << Placed(id: number) }
        #expect(try await kept() == [9, 10, 11, 12, 13])
        try await bus.setBufferLength(0)
        #expect(try await kept() == [])
        await #expect(throws: PenstockError.self) { try await bus.setBufferLength(-1) }
    }

    @Test func inMemoryTheBufferLengthIsAProperty() async throws {
        let bus = EventBus(bufferLength: 9)
        for number in 1...9 { bus << Placed(id: number) }
        bus.bufferLength = 2
        #expect(bus.bufferLength == 2)
        let seen = Gathered()
        try await bus.replay { (event: Placed) in seen.add(event.id) }
        #expect(seen.all == [8, 9])
    }

    @Test(arguments: Kind.allCases)
    func aHandlerThatThrowsGoesOnAndOnFailureIsTold(_ kind: Kind) async throws {
        let failures = Mutex<[String]>([])
        let onFailure: @Sendable (EventBusFailure) -> Void = { failure in
            failures.withLock { $0.append("\(failure.kind) \(failure.eventName ?? "")") }
        }
        let bus =
            kind == .memory
            ? EventBus(onFailure: onFailure) : try await EventBus.open(in: the.store, onFailure: onFailure)
        let seen = Gathered()
        let token =
            bus >> { (event: Placed) in
                defer { seen.add(event.id) }
                if event.id == 1 { throw Reject("no") }
            }
        bus << Placed(id: 1)
        bus << Placed(id: 2)
        try await seen.count.wait(for: 2)
        #expect(failures.withLock { $0 } == ["handler Placed"])
        withExtendedLifetime(token) {}
    }

    @Test(arguments: Kind.allCases)
    func twoTypesOfOneNameAreRefused(_ kind: Kind) async throws {
        enum Other { struct Placed: Event {} }
        let bus = try await bus(kind)
        try await bus.send(Placed(id: 1))
        let error = await #expect(throws: PenstockError.self) { try await bus.send(Other.Placed()) }
        #expect(error?.code == .invalidInput)
        #expect(throws: PenstockError.self) { try bus.register(Other.Placed.self) }
    }

    @Test func aBaseClassGetsItsSubclasses() async throws {
        let bus = try await bus(.store)
        try bus.register(Circle.self)
        let shapes = Gathered()
        let circles = Gathered()
        let tokens = [
            bus >> { (shape: Shape) in shapes.add(shape.size) }, bus >> { (shape: Circle) in circles.add(shape.size) },
        ]
        bus << Shape(size: 1)
        bus << Circle(size: 2)
        try await shapes.count.wait(for: 2)
        try await circles.count.wait(for: 1)
        #expect(shapes.all == [1, 2])
        #expect(circles.all == [2])
        withExtendedLifetime(tokens) {}
    }

    @Test(arguments: Kind.allCases)
    func subscribingCancellingAndSendingMayRace(_ kind: Kind) async throws {
        let bus = try await bus(kind)
        let sent = Tally()
        for _ in 1...(kind == .memory ? 100 : 25) {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let seen = Gathered()
                        let token = bus >> { (event: Placed) in seen.add(event.id) }
                        bus << Placed(id: sent.add())
                        if number % 3 == 0 { await Task.yield() }
                        if number % 2 == 0 { token.cancel() }
                    }
                }
            }
        }
        await bus.flush()
        try await eventually { bus.hub.subscriberCount == 0 }
        var count = 0
        try await bus.setBufferLength(0)
        try await bus.replay { (_: Placed) in count += 1 }
        #expect(count == 0)
    }
}

/// A base class of events.
class Shape: Event, @unchecked Sendable {
    // Never changes once it is made.
    let size: Int
    init(size: Int) { self.size = size }
}

final class Circle: Shape, @unchecked Sendable {
    override init(size: Int) { super.init(size: size) }
    required init(from decoder: any Decoder) throws { try super.init(from: decoder) }
}

/// What is so in memory only.
@Suite(.timeLimit(.minutes(5))) struct EventBusInMemoryTests {
    @Test func whoIsFurtherBehindThanTheBacklogGoesOnWithWhatIsLeft() async throws {
        let bus = EventBus(bufferLength: 2, backlog: 10)
        var iterator = bus.subscribe(Placed.self).makeAsyncIterator()
        for number in 1...100 { bus << Placed(id: number) }
        var seen: [Int] = []
        while seen.last != 100, let event = try await iterator.next() { seen.append(event.id) }
        #expect(seen == Array(91...100))
    }

    @Test func itsEndEndsSubscriptions() async throws {
        var bus: EventBus? = EventBus()
        let events = bus?.subscribe(Placed.self)
        if let bus { bus << Placed(id: 1) }
        bus = nil
        var seen: [Int] = []
        if let events { for try await event in events { seen.append(event.id) } }
        #expect(seen == [1])
    }

    @Test func namedSubscriptionsAreForStores() async throws {
        let bus = EventBus()
        var iterator = bus.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        let error = await #expect(throws: PenstockError.self) { try await iterator.next() }
        #expect(error?.code == .invalidInput)
        await #expect(throws: PenstockError.self) { try await bus.removeSubscription(named: "mailer") }
    }
}
