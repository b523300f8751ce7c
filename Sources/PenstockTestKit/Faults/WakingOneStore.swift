package import PenstockCore

/// A store whose enqueue wakes one task, the one that has waited longest, as when the tasks that wait are those of several
/// processes. What is given back wakes all.
package struct WakingOneStore: ForwardingStore {
    package let base: any MessageStore
    package let changes = Wakeups()
    private let beforeClaim: @Sendable () async throws -> Void

    /// Makes a store on `base`.
    ///
    /// - Parameter beforeClaim: is called before each claim, which fails when that does.
    package init(_ base: any MessageStore, beforeClaim: @escaping @Sendable () async throws -> Void = {}) {
        self.base = base
        self.beforeClaim = beforeClaim
    }

    package func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        let receipts = try await base.enqueue(messages, to: queue, durability: durability)
        changes.ring(at: RingBucket.of(queue)) { _ in 1 }
        return receipts
    }

    package func claim(_ request: ClaimRequest) async throws -> Claim {
        try await beforeClaim()
        return try await base.claim(request)
    }

    package func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        let results = try await base.settle(settlements)
        changes.ring(nil)
        return results
    }
}
