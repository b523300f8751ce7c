import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

/// What becomes of requests about a queue that somebody else changes or deletes at the same time.
@Suite struct SQSChangedQueueTests {
    /// A store in which somebody else sets another policy, if there is one, right before the next that is set.
    private final class HurriedStore: ForwardingStore {
        let base: any MessageStore
        let policy = Mutex<QueuePolicy?>(nil)

        init(_ base: any MessageStore) { self.base = base }

        func configure(_ queue: QueueName, _ change: QueueChange) async throws {
            let other = policy.withLock { policy in
                defer { policy = nil }
                return policy
            }
            if let other { try await base.configure(queue, .set(other, replacing: nil)) }
            try await base.configure(queue, change)
        }
    }

    @Test func howOftenAMessageMayBeReceivedIsSetAndUndoesNothingElse() async throws {
        let storage = HurriedStore(TestDatabase().open())
        let capacity = Capacity(9, whenFull: .fail)
        try await TestServer.run(store: PenstockStore(storage)) { server in
            for name in ["dead", "mail"] { _ = try await server.sqsQueue(name) }
            storage.policy.withLock { $0 = QueuePolicy(capacity: capacity) }
            let redrive = ["RedrivePolicy": TestServer.redrivePolicy(to: "dead", after: 7)]
            try await server.sqs("SetQueueAttributes", ["QueueUrl": "mail", "Attributes": redrive])
            #expect(storage.policy.withLock { $0 } == nil)
            let policy = try #require(try await server.store.queues().first { $0.name.text == "mail" }?.policy)
            #expect(policy.retry.attemptsMax == 7)
            #expect(policy.capacity == capacity)
        }
    }

    /// A store in which the queue `mail` is being deleted, and has not gone yet.
    private struct DeletingStore: ForwardingStore {
        let base: any MessageStore

        func status(of queue: QueueName?) async throws -> StoreStatus {
            var status = try await base.status(of: queue)
            for index in status.queues.indices where status.queues[index].name.text == "mail" {
                status.queues[index].isDeleting = true
            }
            return status
        }

        func configure(_ queue: QueueName, _ change: QueueChange) async throws {
            if queue.text == "mail" { throw PenstockError(.queueDeleting, "The queue 'mail' is being deleted.") }
            try await base.configure(queue, change)
        }
    }

    /// It is there for nobody, and cannot be made yet.
    @Test func aQueueThatIsBeingDeletedIsNotThereAndNotMadeYet() async throws {
        let base = TestDatabase().open()
        for name in ["mail", "other"] {
            try await base.configure(QueueName(name), .create(QueuePolicy(), ifAbsent: false))
        }
        _ = try await base.enqueue([NewMessage(payload: [0x78])], to: QueueName("mail"), durability: .processCrash)
        try await TestServer.run(store: PenstockStore(DeletingStore(base: base))) { server in
            for (action, name) in [
                ("SendMessage", "QueueUrl"), ("ReceiveMessage", "QueueUrl"), ("GetQueueAttributes", "QueueUrl"),
                ("PurgeQueue", "QueueUrl"), ("GetQueueUrl", "QueueName"),
            ] {
                let input = [name: "mail"].merging(action == "SendMessage" ? ["MessageBody": "x"] : [:]) { $1 }
                try await server.sqsRefuses(
                    action, input, "QueueDoesNotExist", code: "AWS.SimpleQueueService.NonExistentQueue")
            }
            let urls = try await server.sqs("ListQueues", [:])["QueueUrls"] as? [String]
            #expect(urls?.map { $0.hasSuffix("/other") } == [true])
            try await server.sqsRefuses(
                "CreateQueue", ["QueueName": "mail"], "QueueDeletedRecently",
                code: "AWS.SimpleQueueService.QueueDeletedRecently")
        }
    }
}
