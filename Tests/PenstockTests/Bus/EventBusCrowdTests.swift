import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Many subscribers, who share what is read once.
@Suite(.timeLimit(.minutes(5))) struct EventBusCrowdTests {
    let the = Fixture()
    private let folder = TemporaryFolder()

    /// Kinds by turns, so that nobody is given all of a page, from one task that hands over and several that wait.
    @Test(arguments: [true, false]) func eachSubscriberGetsEachEventOnceAndInTheLogsOrder(_ isFile: Bool) async throws {
        let store = isFile ? try await PenstockStore.open(path: folder.file("bus.db")) : the.store
        let bus = try await EventBus.open(in: store)
        let placed = (0..<40).map { _ in Gathered() }
        let shipped = (0..<20).map { _ in Gathered() }
        let prices = (0..<4).map { _ in Gathered() }
        var tokens = placed.map { seen in bus >> { (event: Placed) in seen.add(event.id) } }
        tokens += shipped.map { seen in bus >> { (event: Shipped) in seen.add(event.id) } }
        tokens += prices.map { seen in bus >> { (event: any Paid) in seen.add(event.price) } }
        let each = 1500
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 0..<each {
                    bus << Placed(id: number)
                    bus << Shipped(id: number, price: -number)
                    if number % 100 == 99 { await Task.yield() }
                }
            }
            for sender in 1...4 {
                group.addTask { for number in 0..<50 { try await bus.send(Placed(id: sender * 10_000 + number)) } }
            }
            try await group.waitForAll()
        }
        for one in placed { try await one.count.wait(for: each + 200) }
        for one in shipped + prices { try await one.count.wait(for: each) }
        #expect(Set(placed.map(\.all)).count == 1, "One order for all.")
        let all = placed[0].all
        #expect(all.count == each + 200 && Set(all).count == all.count)
        for sender in 0...4 {
            let own = all.filter { $0 / 10_000 == sender }
            #expect(own == own.sorted(), "A sender's own order.")
        }
        for one in shipped { #expect(one.all == Array(0..<each)) }
        for one in prices { #expect(one.all == (0..<each).map { -$0 }) }
        for token in tokens { token.cancel() }
        try await store.close()
    }

    @Test func aSlowOneMissesNothingThatTheLogHas() async throws {
        let bus = try await EventBus.open(in: the.store)
        let (slow, quick) = (Gathered(), Gathered())
        let gate = Latch()
        let tokens = [
            bus >> { (event: Placed) in
                slow.add(event.id)
                if event.id == 3 { try await gate.wait() }
            },
            bus >> { (event: Placed) in quick.add(event.id) },
        ]
        let count = 5000
        for number in 0..<count {
            bus << Placed(id: number)
            if number % 500 == 0 { await bus.flush() }
        }
        try await quick.count.wait(for: count)
        #expect(slow.all == Array(0...3))
        gate.open()
        try await slow.count.wait(for: count)
        #expect(slow.all == Array(0..<count))
        #expect(quick.all == Array(0..<count))
        withExtendedLifetime(tokens) {}
    }

    @Test func aCancelledOneGetsNothingMoreOfWhatWasRead() async throws {
        let bus = try await EventBus.open(in: the.store)
        let seen = Gathered()
        let own = Mutex<EventSubscription?>(nil)
        for round in 1...20 {
            let subscribed = Latch()
            let token =
                bus >> { (event: Placed) in
                    try await subscribed.wait()
                    seen.add(event.id)
                    own.withLock { $0 }?.cancel()
                }
            own.withLock { $0 = token }
            for number in 0..<300 { bus << Placed(id: number) }
            await bus.flush()
            subscribed.open()
            await token.waitForEnd()
            #expect(seen.all == Array(repeating: 0, count: round))
        }
    }

    @Test func aCancelledSequenceGivesNothingMoreOfWhatWasRead() async throws {
        let bus = try await EventBus.open(in: the.store)
        let events = bus.subscribe(Placed.self)
        for number in 0..<300 { bus << Placed(id: number) }
        await bus.flush()
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next() == Placed(id: 0))
        events.cancel()
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func anEventWithManyFieldsAndNamesIsWhatWasSent() async throws {
        let bus = try await EventBus.open(in: the.store)
        let told = Mutex<[Letter]>([])
        let count = Tally()
        let token =
            bus >> { (letter: Letter) in
                told.withLock { $0.append(letter) }
                count.add()
            }
        let texts = ["", "plain", "two\nlines", "\"quoted\"", "e\u{301}", "\u{E9}", "\u{0}", "\\"]
        let letters = texts.map { Letter(text: $0, weight: 0.1, pages: [1, 2], isRead: nil) }
        for letter in letters { bus << letter }
        try await count.wait(for: letters.count)
        #expect(told.withLock { $0 } == letters)
        #expect(told.withLock { $0.map { Array($0.text.utf8) } } == texts.map { Array($0.utf8) })
        withExtendedLifetime(token) {}
    }
}

private struct Letter: Event, Equatable {
    var text: String
    var weight: Double
    var pages: [Int]
    var isRead: Bool?
}
