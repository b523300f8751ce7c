import HTTPTypes
import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `POST /v1/settlements`: verdicts of workers, and the next claim in the same round trip.
struct Settlements: Sendable {
    let store: PenstockStore
    let time: any TimeSource

    func add(to v1: RouterGroup<ServerContext>) {
        v1.post("settlements", use: settle)
    }

    @Sendable private func settle(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        // Nothing is read of somebody who may not do it anyway.
        try context.principal.require(.consume)
        let (body, written) = try await request.jsonAsWritten(
            SettlementBody.self, as: "The settlements", bytesMax: Bounds.settlementBytesMax)
        let settlements = try body.settlements(written)
        let claim = try body.claim?.claim(of: nil, by: context.principal)
        for queue in Set(settlements.flatMap(\.drafts).map(\.queue)) {
            try context.principal.require(.produce, queue)
        }
        try await Lookup(store: store).require(
            context.principal, .consume, settlements.map(\.lease.sequence), mayBeGone: true)
        guard let claim else {
            return .json(.object(["settlements": Self.json(try await store.storage.settle(settlements), settlements)]))
        }
        return try await settle(settlements, then: claim, context)
    }

    /// One transaction does both, if one queue has what is wanted.
    private func settle(
        _ settlements: [Settlement], then claim: RemoteClaim, _ context: ServerContext
    ) async throws -> Response {
        try await store.reclaimIfDue()
        let first = claim.queues[0]
        let performed = try await store.storage.perform([
            .settle(settlements), .claim(claim.request(of: first, limit: claim.limit)),
        ])
        var (results, claimed): ([SettleResult], [RemoteClaim.Claimed]) = ([], [])
        for answer in performed.answers {
            switch answer {
            case .settled(let settled): results = settled
            case .claimed(let claim):
                store.tell(of: claim.setAside)
                claimed = claim.messages.map { RemoteClaim.Claimed(queue: first, message: $0) }
            case .enqueued: break
            }
        }
        try await context.requireClient(for: claimed.map(\.message.lease), of: store)
        var members: [JSONValue.Member] = [.init(key: "settlements", value: Self.json(results, settlements))]
        var failure = performed.failure
        if claimed.isEmpty, failure == nil, claim.wait > .zero || claim.queues.count > 1 {
            do {
                claimed = try await claim.run(store, context, time)
            } catch {
                failure = error
            }
        }
        if let failure {
            // The verdicts count all the same, and their worker has to know.
            let problem = Problem(known: failure) ?? .unexpected
            members.append(.init(key: "claimProblem", value: problem.json))
        }
        return ClaimResponse(store: store, claimed: claimed, loop: context.eventLoop).json(before: members)
    }

    private static func json(_ results: [SettleResult], _ settlements: [Settlement]) -> JSONValue {
        .array(zip(settlements, results).map { $1.json(of: $0.lease.sequence) })
    }
}

/// Verdicts alone, or with a claim.
private struct SettlementBody: Decodable {
    var claim: ClaimEntry?
    private var entries: [SettlementEntry]
    private var isArray: Bool

    init(from decoder: any Decoder) throws {
        if (try? decoder.unkeyedContainer()) != nil {
            entries = try BoundedArray<SettlementEntry>(from: decoder).elements
            isArray = true
            try requireRoom()
            return
        }
        let members = try Members(decoder, ["settlements", "claim"], of: "A body of settlements")
        entries = (try members.required("settlements") as BoundedArray<SettlementEntry>).elements
        claim = try members.value("claim")
        isArray = false
        try requireRoom()
    }

    /// Throws when all of it is too much for one transaction.
    private func requireRoom() throws(PenstockError) {
        try require(
            entries.reduce(entries.count) { $0 + $1.drafts.count } <= TransactionSize.countMax,
            "One request has at most \(TransactionSize.countMax) verdicts and messages in their \"then\" together; make several of it."
        )
    }

    func settlements(_ written: ArraySlice<UInt8>) throws(PenstockError) -> [Settlement] {
        let array = isArray ? written : JSONSpans.member("settlements", of: written)
        guard let spans = array.flatMap(JSONSpans.elements), spans.count == entries.count else {
            throw PenstockError(.invalidInput, "A body has its \"settlements\" once, and in UTF-8.")
        }
        var settlements: [Settlement] = []
        for (entry, span) in zip(entries, spans) { settlements.append(try entry.settlement(span)) }
        return settlements
    }
}

extension SettleResult {
    /// What became of a verdict on a message.
    func json(of sequence: SequenceNumber) -> JSONValue {
        switch self {
        case .settled(let state):
            .object([
                "sequence": .integer(sequence.rawValue), "outcome": .string("settled"),
                "state": .string(state.rawValue),
            ])
        case .leaseLost:
            .object(["sequence": .integer(sequence.rawValue), "outcome": .string("leaseLost"), "state": .null])
        }
    }
}
