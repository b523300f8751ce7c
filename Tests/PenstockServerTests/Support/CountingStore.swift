import PenstockCore
import PenstockTestKit
import Synchronization

/// A store that says how many messages came with each call, and of which queues the status was asked.
final class CountingStore: ForwardingStore {
    let base: any MessageStore
    let batches = Mutex<[Int]>([])
    /// `nil`: of all.
    let statuses = Mutex<[QueueName?]>([])

    init(_ base: any MessageStore) {
        self.base = base
    }

    func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        batches.withLock { $0.append(messages.count) }
        return try await base.enqueue(messages, to: queue, durability: durability)
    }

    func status(of queue: QueueName?) async throws -> StoreStatus {
        statuses.withLock { $0.append(queue) }
        return try await base.status(of: queue)
    }
}
