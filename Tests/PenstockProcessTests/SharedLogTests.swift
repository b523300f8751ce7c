import Foundation
import Penstock
import PenstockTestKit
import Synchronization
import Testing

private struct Note: Event {
    var id: Int
}

private struct Ready: Event {}

/// What the child process has seen, in its order.
private struct Seen: Event {
    var ids: [Int]
}

extension Faults {
    /// Two real processes on one log and one bus: this one and a child of it.
    @Suite struct SharedLogTests {
        @Test func twoProcessesOnOneBusSeeTheSameInOneOrder() async throws {
            try await Site.use { site in
                let store = try await PenstockStore.open(path: site.file)
                let bus = try await EventBus.open(in: store)
                let seen = Mutex<[Int]>([])
                let (ready, count) = (Tally(), Tally())
                let told = Mutex<[Int]>([])
                let isTold = Tally()
                let tokens = [
                    bus >> { (note: Note) in
                        seen.withLock { $0.append(note.id) }
                        count.add()
                    },
                    bus >> { (_: Ready) in ready.add() },
                    bus >> { (event: Seen) in
                        told.withLock { $0 = event.ids }
                        isTold.add()
                    },
                ]
                // So that the child's first event is not before this process listens.
                await bus.flush()
                let child = Task { [file = site.file] in
                    _ = await #expect(processExitsWith: .success) { [file = file as String] in
                        let store = try await PenstockStore.open(path: file)
                        let bus = try await EventBus.open(in: store)
                        let notes = bus.subscribe(Note.self)
                        try await bus.send(Ready())
                        for number in 1...300 { bus << Note(id: -number) }
                        var ids: [Int] = []
                        for try await note in notes {
                            ids.append(note.id)
                            if ids.count == 600 { break }
                        }
                        try await bus.send(Seen(ids: ids))
                        try await store.close()
                    }
                }
                try await ready.wait(for: 1)
                for number in 1...300 { bus << Note(id: number) }
                try await count.wait(for: 600)
                try await isTold.wait(for: 1)
                await child.value
                #expect(seen.withLock { $0 } == told.withLock { $0 })
                #expect(seen.withLock { $0.filter { $0 > 0 } } == Array(1...300))
                #expect(seen.withLock { $0.filter { $0 < 0 } } == (1...300).map { -$0 })
                for token in tokens { token.cancel() }
                try await store.close()
                try await site.expectHealthy()
            }
        }

        @Test func whatAKilledProcessSentIsReplayed() async throws {
            try await Site.use { site in
                await #expect(processExitsWith: .signal(SIGKILL)) { [file = site.file as String] in
                    let store = try await PenstockStore.open(path: file)
                    let subject = AsyncDurableReplaySubject(
                        bufferSize: 0, in: try await store.queue("numbers", of: Int.self))
                    for number in 1...100 { try await subject.send(number) }
                    kill(getpid(), SIGKILL)
                }
                let store = try await PenstockStore.open(path: site.file)
                let subject = AsyncDurableReplaySubject(
                    bufferSize: 3, in: try await store.queue("numbers", of: Int.self))
                var iterator = subject.makeAsyncIterator()
                for number in 98...100 { #expect(try await iterator.next() == number) }
                try await subject.send(101)
                #expect(try await iterator.next() == 101)
                try await store.close()
                try await site.expectHealthy()
            }
        }

        @Test func aNamedSubscriptionGoesOnWhereAKilledProcessWas() async throws {
            try await Site.use { site in
                await #expect(processExitsWith: .signal(SIGKILL)) { [file = site.file as String] in
                    let store = try await PenstockStore.open(path: file)
                    let bus = try await EventBus.open(in: store)
                    let token = bus.subscribe(Note.self, named: "mailer") { note in
                        if note.id == 57 { kill(getpid(), SIGKILL) }
                    }
                    for number in 1...100 { try await bus.send(Note(id: number)) }
                    await token.waitForEnd()
                }
                let store = try await PenstockStore.open(path: site.file)
                let bus = try await EventBus.open(in: store)
                var iterator = bus.subscribe(Note.self, named: "mailer").makeAsyncIterator()
                let first = try #require(try await iterator.next())
                #expect(first.event.id == 57, "The one that was being worked comes again, and none before it.")
                try await store.close()
                try await site.expectHealthy()
            }
        }
    }
}
