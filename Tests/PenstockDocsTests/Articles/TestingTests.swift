import Foundation
import GRDB
// shown
import Penstock
import PenstockTestKit
import Testing

@Test func aMailThatFailsComesBackAfterAMinute() async throws {
    let time = ManualTime()
    let store = PenstockStore(InMemoryStore(time: time), options: .init(time: time))
    let policy = QueuePolicy(retry: RetryPolicy(base: .seconds(60), jitter: 0))
    let mails = try await store.queue("mails", of: String.self, policy: policy)
    try await mails.enqueue("hello")

    struct ServerIsDown: Error {}
    try await Worker(mails, options: .init(drain: true)) { _ in throw ServerIsDown() }.run()
    #expect(try await mails.status().depths.scheduled == 1)

    time.advance(by: .seconds(60))
    let sent = Tally()
    try await Worker(mails, options: .init(drain: true)) { _ in sent.add() }.run()
    #expect(sent.count == 1)
    #expect(try await mails.status().totals.done == 1)
}
// end

// shown
@Test func aWorkerGoesOnAfterTheDiskWasFull() async throws {
    let time = ManualTime()
    let faulty = FaultyStore(InMemoryStore(time: time))
    let store = PenstockStore(faulty, options: .init(time: time))
    let mails = try await store.queue("mails", of: String.self)
    try await mails.enqueue("hello")

    faulty.fail(.claim, with: PenstockError(.diskFull, "No room is left."))
    let sent = Tally()
    let worker = Task { try await Worker(mails, options: .init(max: 1)) { _ in sent.add() }.run() }
    // Two tasks of the worker sleep: one until the next try, one until it forgets what retention lets go.
    try await time.waitForSleepers(count: 2)
    #expect(sent.count == 0)
    time.advance(by: .seconds(1))
    try await worker.value
    #expect(sent.count == 1)
}
// end

// shown
@Test func whatAKilledProcessHeldIsWorkedByAnother() async throws {
    let time = ManualTime()
    let database = InMemoryDatabase(time: time)
    let (first, second) = (database.open(), database.open())
    let mails = try await PenstockStore(first, options: .init(time: time)).queue("mails", of: String.self)
    try await mails.enqueue("hello")
    var reader = mails.deliveries().makeAsyncIterator()
    #expect(try await reader.next()?.attempt == 1)
    first.crash()

    let sameMails = try await PenstockStore(second, options: .init(time: time)).queue("mails", of: String.self)
    try await Worker(sameMails, options: .init(drain: true)) { delivery in
        #expect(delivery.attempt == 2)
    }.run()
    #expect(try await sameMails.status().totals.done == 1)
}
// end

// shown
@Test func aRegistrationThatFailsSendsNoMail() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let pool = try DatabasePool(path: folder.appending(path: "app.db").path)
    let store = try await PenstockStore.open(pool)
    let mails = try await store.queue("mails", of: String.self)

    struct NameIsTaken: Error {}
    await #expect(throws: NameIsTaken.self) {
        try await pool.write { db in
            try mails.enqueue("welcome", in: db)
            throw NameIsTaken()
        }
    }
    #expect(try await mails.status().totals.enqueued == 0)
    try await store.close()
}
// end
