import PenstockCore
import PenstockTestKit

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

/// A store that does something before each step of pruning.
func pruned(
    _ base: any MessageStore, after beforePrune: @escaping @Sendable () async throws -> Void
) -> any MessageStore {
    AlteredStore(base: base, changes: base.changes, beforePrune: beforePrune)
}

/// A store that does something before each reading of the log.
func readLate(
    _ base: any MessageStore, beforeLog: @escaping @Sendable (LogQuery) async throws -> Void
) -> any MessageStore {
    AlteredStore(base: base, changes: base.changes, beforeLog: beforeLog)
}

/// A store that moves no cursor for a task that is cancelled, as one at a server.
func heedingCancellation(_ base: any MessageStore) -> any MessageStore {
    AlteredStore(base: base, changes: base.changes, beforeMoveCursor: { try Task.checkCancellation() })
}

/// A store that is damaged where `message` is settled.
func refusing(_ base: any MessageStore, verdictOn message: SequenceNumber) -> any MessageStore {
    AlteredStore(
        base: base, changes: base.changes,
        beforeSettle: { settlements in
            guard settlements.contains(where: { $0.lease.sequence == message }) else { return }
            throw PenstockError(.corrupt, "Damaged.")
        })
}

/// A store in which somebody else takes a place just before the first enqueue, and leaves it just after that.
func crowded(_ base: any MessageStore) -> any MessageStore {
    let (come, gone) = (Tally(), Tally())
    return AlteredStore(
        base: base, changes: base.changes,
        beforeEnqueue: { queue in
            guard come.add() == 1 else { return }
            _ = try await base.enqueue([NewMessage(payload: [48])], to: queue, durability: .processCrash)
        },
        afterEnqueue: { queue in
            guard gone.add() == 1 else { return }
            _ = try await base.apply(.cancel, to: .queue(queue, states: [.ready], limit: 1))
        })
}

private struct AlteredStore: ForwardingStore {
    let base: any MessageStore
    let changes: Wakeups
    var afterClaim: @Sendable (Claim) async throws -> Void = { _ in }
    var beforeExtend: @Sendable () async throws -> Void = {}
    var beforePrune: @Sendable () async throws -> Void = {}
    var beforeLog: @Sendable (LogQuery) async throws -> Void = { _ in }
    var beforeMoveCursor: @Sendable () async throws -> Void = {}
    var beforeSettle: @Sendable ([Settlement]) async throws -> Void = { _ in }
    var beforeEnqueue: @Sendable (QueueName) async throws -> Void = { _ in }
    var afterEnqueue: @Sendable (QueueName) async throws -> Void = { _ in }

    func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        try await beforeEnqueue(queue)
        let receipts = try await base.enqueue(messages, to: queue, durability: durability)
        try await afterEnqueue(queue)
        return receipts
    }

    func claim(_ request: ClaimRequest) async throws -> Claim {
        let claim = try await base.claim(request)
        try await afterClaim(claim)
        return claim
    }

    func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        try await beforeSettle(settlements)
        return try await base.settle(settlements)
    }

    func extend(_ extensions: [LeaseExtension]) async throws -> [LeaseStanding] {
        try await beforeExtend()
        return try await base.extend(extensions)
    }

    func log(_ query: LogQuery) async throws -> LogPage {
        try await beforeLog(query)
        return try await base.log(query)
    }

    func moveCursor(
        _ cursor: CursorName, of queue: QueueName, _ move: CursorMove
    ) async throws -> CursorRecord? {
        try await beforeMoveCursor()
        return try await base.moveCursor(cursor, of: queue, move)
    }

    func prune(_ request: PruneRequest) async throws -> Pruned {
        try await beforePrune()
        return try await base.prune(request)
    }
}
