package import PenstockCore

/// A store of which each claim sets a row aside: number 7 of the queue, as it is "Wrong.".
package struct SettingAsideStore: ForwardingStore {
    package let base: any MessageStore

    /// Makes a store on `base`.
    package init(base: any MessageStore) { self.base = base }

    package func claim(_ request: ClaimRequest) async throws -> Claim {
        var claim = try await base.claim(request)
        claim.setAside = [SetAsideRow(sequence: SequenceNumber(7), queue: request.queue, reason: "Wrong.")]
        return claim
    }
}
