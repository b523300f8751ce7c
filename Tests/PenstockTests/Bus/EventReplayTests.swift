import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// A replay gives what was sent before the call, and ends with that.
@Suite(.timeLimit(.minutes(5))) struct EventReplayTests {
    let the = Fixture()

    /// There are more events than are read at once, and the handler sends more of them.
    @Test(arguments: [true, false]) func aReplayThatSendsEnds(_ isInMemory: Bool) async throws {
        struct TooMany: Error {}
        let bus = isInMemory ? EventBus() : try await EventBus.open(in: the.store)
        let count = LogAccess<Void>.pageCountMax + 1
        for number in 1...count { bus << Placed(id: number) }
        await bus.flush()
        let seen = Gathered()
        try await bus.replay { (event: Placed) in
            if event.id > count { throw TooMany() }
            seen.add(event.id)
            try await bus.send(Placed(id: count + event.id))
        }
        #expect(seen.all == Array(1...count))
    }

    /// Somebody sends between its look at the end and what it reads first.
    @Test func whatIsSentAfterTheCallIsNotReplayed() async throws {
        let storage = InterleavedStore(the.base)
        let bus = try await EventBus.open(in: PenstockStore(storage, options: .init(time: the.time)))
        let other = try await EventBus.open(in: the.otherProcess())
        for number in 1...3 { try await bus.send(Placed(id: number)) }
        let sent = Tally()
        storage.afterNext(.log) { _ in
            try await other.send(Placed(id: 4))
            sent.add()
        }
        let seen = Gathered()
        try await bus.replay { (event: Placed) in seen.add(event.id) }
        #expect(seen.all == [1, 2, 3] && sent.count == 1)
        try await bus.replay { (event: Placed) in seen.add(event.id) }
        #expect(seen.all == [1, 2, 3, 1, 2, 3, 4])
    }
}
