import PenstockCore
import PenstockTestKit
import Synchronization

/// A store that says how many messages came with each call.
final class CountingStore: ForwardingStore {
    let base: any MessageStore
    let batches = Mutex<[Int]>([])

    init(_ base: any MessageStore) {
        self.base = base
    }

    func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        batches.withLock { $0.append(messages.count) }
        return try await base.enqueue(messages, to: queue, durability: durability)
    }
}
