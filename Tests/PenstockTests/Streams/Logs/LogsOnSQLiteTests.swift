import Foundation
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// The same on SQLite: a file that several stores have open, with real time and real doorbells.
@Suite(.timeLimit(.minutes(5))) struct LogsOnSQLiteTests {
    private let folder = TemporaryFolder()

    private func open() async throws -> PenstockStore { try await PenstockStore.open(path: folder.file("log.db")) }

    @Test func aThousandSubscribersOfOneReadingAndAnotherStore() async throws {
        let (store, other) = (try await open(), try await open())
        let source = HandFedSource()
        let shared = source.shareReplay(0, in: try await store.queue("q", of: Int.self))
        let gathered = (0..<1000).map { _ in Gathered() }
        let tasks = gathered.map { $0.all(of: shared) }
        try await eventually { shared.subscriberCount == 1000 }
        try await source.begun.wait(for: 1)
        let subject = AsyncDurableReplaySubject(bufferSize: 0, in: try await other.queue("q", of: Int.self))
        for number in 1...100 {
            if number % 2 == 0 { source.give([number]) } else { try await subject.send(number) }
        }
        for one in gathered { try await one.count.wait(for: 100) }
        #expect(Set(gathered.map(\.all)).count == 1)
        #expect(gathered[0].all.sorted() == Array(1...100))
        source.finish()
        for task in tasks { try await task.value }
        #expect(source.begun.count == 1)
        try await store.close()
        try await other.close()
    }

    @Test func aReopenedFileReplaysAndHasEnded() async throws {
        var store = try await open()
        var subject = AsyncDurableReplaySubject(bufferSize: 2, in: try await store.queue("q", of: Int.self))
        for number in 1...5 { try await subject.send(number) }
        try await store.close()
        store = try await open()
        subject = AsyncDurableReplaySubject(bufferSize: 2, in: try await store.queue("q", of: Int.self))
        var iterator = subject.makeAsyncIterator()
        #expect(try await iterator.next() == 4)
        try await subject.finish()
        try await store.close()
        store = try await open()
        subject = AsyncDurableReplaySubject(bufferSize: 2, in: try await store.queue("q", of: Int.self))
        let late = Gathered()
        try await late.all(of: subject).value
        #expect(late.all == [4, 5])
        try await store.close()
    }

    @Test func aBusInTwoStoresOnOneFile() async throws {
        let stores = [try await open(), try await open()]
        var buses: [EventBus] = []
        for store in stores { buses.append(try await EventBus.open(in: store)) }
        let seen = [Gathered(), Gathered()]
        let tokens = zip(buses, seen).map { bus, seen in bus >> { (event: Placed) in seen.add(event.id) } }
        try await eventually { [buses] in buses.allSatisfy { $0.hub.subscriberCount == 1 } }
        await withTaskGroup(of: Void.self) { group in
            for (index, bus) in buses.enumerated() {
                group.addTask { for number in 1...500 { bus << Placed(id: number * 2 + index) } }
            }
        }
        for one in seen { try await one.count.wait(for: 1000) }
        #expect(seen[0].all == seen[1].all)
        #expect(Set(seen[0].all).count == 1000)
        for token in tokens { token.cancel() }
        for store in stores { try await store.close() }
    }

    /// It stops in the middle of an event, in the only attempt that it has. The event comes again.
    @Test func aNamedSubscriptionGoesOnAfterARestart() async throws {
        for round in 0..<3 {
            let store = try await open()
            let bus = try await EventBus.open(in: store)
            try await store.queue("events", create: false).changePolicy { $0.retry.attemptsMax = 1 }
            let seen = Gathered()
            let token = bus.subscribe(Placed.self, named: "mailer") { event in
                seen.add(event.id)
                if event.id % 10 != 9 { return }
                try? await Tally().wait(for: 1)
                throw Reject("It was stopped.")
            }
            if round == 0 { for number in 0..<100 { bus << Placed(id: number) } }
            try await seen.count.wait(for: round == 0 ? 10 : 1)
            token.cancel()
            await token.waitForEnd()
            #expect(seen.all == (round == 0 ? Array(0...9) : [9]))
            try await store.close()
        }
    }

    @Test func pruningTellsTheSlow() async throws {
        let store = try await open()
        let log = try await store.queue("q", of: Int.self)
        let missed = Mutex(0)
        let subject = AsyncDurableReplaySubject(
            bufferSize: 0, in: log, onMissed: { count in missed.withLock { $0 += count } })
        var iterator = subject.makeAsyncIterator()
        try await subject.send(1)
        #expect(try await iterator.next() == 1)
        for number in 2...50 { try await subject.send(number) }
        _ = try await store.prune(queue: log.name, retention: Retention(age: nil, count: 5))
        var taken: [Int] = []
        while taken.last != 50, let number = try await iterator.next() { taken.append(number) }
        // Those that were in memory already are not missed.
        #expect(taken.count + missed.withLock { $0 } == 49)
        #expect(taken.suffix(5) == [46, 47, 48, 49, 50])
        try await store.close()
    }
}
