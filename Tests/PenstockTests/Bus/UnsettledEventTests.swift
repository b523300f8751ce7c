import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// A type of events as an earlier version of a program has it.
struct FirstShape: Event {
    static let eventName = "Shape"
    var id: Int
}

/// The same type in a later version.
struct SecondShape: Event {
    static let eventName = "Shape"
    var id: Int
    var color: String
}

/// What a named subscription has not settled comes again, and what it never gave is counted.
@Suite(.timeLimit(.minutes(5))) struct UnsettledEventTests {
    let the = Fixture()

    private func cursor() async throws -> CursorRecord {
        try #require(try await the.store.storage.status(of: nil).cursors.first)
    }

    /// The place passes over events of other kinds only where everything that was handed out before them is settled.
    @Test func whatIsNotSettledStaysBehindEventsOfOtherKinds() async throws {
        let bus = try await EventBus.open(in: the.store)
        let events = bus.subscribe(Placed.self, named: "mailer")
        await bus.flush()
        try await bus.send(Placed(id: 1))
        try await bus.send(Shipped(id: 2, price: 0))
        // It reads both of them together, and the third by itself.
        var iterator = events.makeAsyncIterator()
        let first = try #require(try await iterator.next())
        try await bus.send(Placed(id: 3))
        #expect(try await iterator.next()?.event.id == 3)
        let place = try await cursor()
        try #require(place.sequence < first.sequence, "After a crash it would not come again.")
        try await the.crash()

        let again = try await EventBus.open(in: the.otherProcess())
        var next = again.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        for id in [1, 3] { #expect(try await next.next()?.event.id == id) }
    }

    /// Its attempt is the last one that the policy allows.
    @Test(arguments: [true, false]) func aHandlerThatIsCancelledGivesNothingUp(_ rejects: Bool) async throws {
        let (begun, told) = (Tally(), Tally())
        let bus = try await EventBus.open(in: the.store) { _ in told.add() }
        try await the.store.queue("events", create: false).changePolicy { $0.retry.attemptsMax = 1 }
        let token = bus.subscribe(Placed.self, named: "mailer") { _ in
            begun.add()
            try? await Tally().wait(for: 1)
            if rejects { throw Reject("It was stopped.") }
            throw CancellationError()
        }
        let sequence = try await bus.send(Placed(id: 1))
        try await begun.wait(for: 1)
        token.cancel()
        await token.waitForEnd()
        let place = try await cursor()
        try #require(place.sequence < sequence && place.missed == 0)
        #expect(told.count == 0)
        let seen = Gathered()
        let again = bus.subscribe(Placed.self, named: "mailer") { seen.add($0.id) }
        try await seen.count.wait(for: 1)
        #expect(seen.all == [1])
        withExtendedLifetime(again) {}
    }

    /// A type may change in a way that its old events do not survive. They are of the subscription all the same, which goes past them with
    /// the second try to settle here.
    @Test func whatCannotBeReadAnyMoreIsMissedAndToldOf() async throws {
        let before = try await EventBus.open(in: the.otherProcess())
        _ = before.subscribe(FirstShape.self, named: "mailer")
        await before.flush()
        try await before.send(FirstShape(id: 1))
        try await before.send(Shipped(id: 2, price: 0))
        let told = Mutex<[EventBusFailure]>([])
        let bus = try await EventBus.open(in: the.store) { failure in told.withLock { $0.append(failure) } }
        try await bus.send(SecondShape(id: 3, color: "red"))
        var iterator = bus.subscribe(SecondShape.self, named: "mailer").makeAsyncIterator()
        let event = try #require(try await iterator.next())
        #expect(event.event.id == 3)
        the.calls.fail(.moveCursor)
        await #expect(throws: PenstockError.self) { try await event.settle() }
        #expect(try await cursor().missed == 0)
        try await event.settle()
        #expect(try await cursor().missed == 1)
        let failures = told.withLock { $0 }
        #expect(failures.map(\.kind) == [.undecodable])
        #expect(failures.first?.description.hasPrefix("An event Shape (message 1) cannot be read") == true)
    }
}
