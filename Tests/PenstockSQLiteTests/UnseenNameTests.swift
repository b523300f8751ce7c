import Foundation
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// Names with characters that nobody sees are given to nothing new, and what has one from before is worked as ever.
@Suite(.timeLimit(.minutes(5))) struct UnseenNameTests {
    private let folder = TemporaryFolder()

    @Test func aQueueThatHasSuchANameIsUsed() async throws {
        let path = folder.file("queue.db")
        let before = try await SQLiteStore.openWithJobs(path)
        try await before.put(.text("it"))
        try await before.close()
        let renaming = "UPDATE penstock_queue SET name = name || char(0x3164)"
        #expect(try await SQLiteShell(path: path).run(renaming).succeeded)

        let store = try await SQLiteStore.open(path: path)
        let queue = try QueueName("jobs\u{3164}")
        #expect(try await store.status(of: nil).queues.map(\.name) == [queue])
        // A program that says at its start which queue it wants goes on.
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        try await store.put(.text("more"), to: queue)
        let messages = try await store.take(2, from: queue)
        #expect(messages.map(\.lease.sequence.rawValue) == [1, 2])
        for message in messages { _ = try await store.settle([Settlement(message.lease, .done)]) }
        await expect(.queueExists) { try await store.configure(queue, .create(QueuePolicy(), ifAbsent: false)) }
        await expect(.invalidInput) {
            try await store.configure(QueueName("mail\u{3164}"), .create(QueuePolicy(), ifAbsent: true))
        }
        try await store.configure(queue, .delete(force: true))
        #expect(try await store.status(of: nil).queues.isEmpty)
        try await store.close()
    }
}
