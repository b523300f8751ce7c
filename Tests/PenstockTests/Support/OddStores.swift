import PenstockCore

/// A store whose bell never rings, as when every ring is lost or somebody else writes the file.
func silent(_ base: any MessageStore) -> any MessageStore {
    AlteredStore(base: base, changes: Wakeups())
}

/// A store that does something after each claim, before the caller hears of it.
func interrupted(_ base: any MessageStore, afterClaim: @escaping @Sendable (Claim) async throws -> Void)
    -> any MessageStore
{
    AlteredStore(base: base, changes: base.changes, afterClaim: afterClaim)
}

/// A store that does something before each extension.
func interrupted(
    _ base: any MessageStore, beforeExtend: @escaping @Sendable () async throws -> Void
) -> any MessageStore {
    AlteredStore(base: base, changes: base.changes, beforeExtend: beforeExtend)
}

private struct AlteredStore: MessageStore {
    let base: any MessageStore
    let changes: Wakeups
    var afterClaim: @Sendable (Claim) async throws -> Void = { _ in }
    var beforeExtend: @Sendable () async throws -> Void = {}

    func claim(_ request: ClaimRequest) async throws -> Claim {
        let claim = try await base.claim(request)
        try await afterClaim(claim)
        return claim
    }

    func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        try await base.enqueue(messages, to: queue, durability: durability)
    }
    func settle(_ settlements: [Settlement]) async throws -> [SettleResult] { try await base.settle(settlements) }
    func extend(_ leases: [Lease], by duration: Duration) async throws -> [Bool] {
        try await beforeExtend()
        return try await base.extend(leases, by: duration)
    }
    func append(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability
    ) async throws -> [Receipt] {
        try await base.append(messages, to: queue, unless: cursor, durability: durability)
    }
    func log(_ query: LogQuery) async throws -> LogPage { try await base.log(query) }
    func moveCursor(
        _ cursor: CursorName, of queue: QueueName, _ move: CursorMove
    ) async throws -> CursorRecord? {
        try await base.moveCursor(cursor, of: queue, move)
    }
    func reclaim() async throws -> Reclaimed { try await base.reclaim() }
    func messages(_ query: MessageQuery) async throws -> [MessageRecord] { try await base.messages(query) }
    func status(of queue: QueueName?) async throws -> StoreStatus { try await base.status(of: queue) }
    func configure(_ queue: QueueName, _ change: QueueChange) async throws { try await base.configure(queue, change) }
    func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try await base.apply(command, to: selection)
    }
    func prune(_ request: PruneRequest) async throws -> Pruned { try await base.prune(request) }
    func close() async throws { try await base.close() }
}
