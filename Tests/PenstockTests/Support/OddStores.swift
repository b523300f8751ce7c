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

private struct AlteredStore: ForwardingStore {
    let base: any MessageStore
    let changes: Wakeups
    var afterClaim: @Sendable (Claim) async throws -> Void = { _ in }
    var beforeExtend: @Sendable () async throws -> Void = {}

    func claim(_ request: ClaimRequest) async throws -> Claim {
        let claim = try await base.claim(request)
        try await afterClaim(claim)
        return claim
    }

    func extend(_ leases: [Lease], by duration: Duration) async throws -> [Bool] {
        try await beforeExtend()
        return try await base.extend(leases, by: duration)
    }
}
