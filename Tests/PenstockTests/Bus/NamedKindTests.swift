import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// A named subscription has one place in the log, which passes over events of other kinds.
@Suite(.timeLimit(.minutes(5))) struct NamedKindTests {
    let the = Fixture()

    /// Otherwise what the one kind's reader has settled would be behind the other's, unseen, and count as missed nowhere.
    @Test func aNameIsForOneKind() async throws {
        let bus = try await EventBus.open(in: the.store)
        _ = bus.subscribe(Placed.self, named: "mailer")
        _ = bus.subscribe(Placed.self, named: "mailer")
        func expectRefusal() async {
            var other = bus.subscribe(Shipped.self, named: "mailer").makeAsyncIterator()
            let refusal = await #expect(throws: PenstockError.self) { _ = try await other.next() }
            #expect(refusal?.code == .invalidInput && refusal?.message.contains("another kind") == true)
        }
        await expectRefusal()
        await bus.flush()
        // A subscriber that iterates may not have heard of that.
        try await bus.removeSubscription(named: "mailer")
        await expectRefusal()
        var anew = bus.subscribe(Placed.self, named: "mailer").makeAsyncIterator()
        try await bus.send(Placed(id: 2))
        #expect(try await anew.next()?.event.id == 2)
    }
}
