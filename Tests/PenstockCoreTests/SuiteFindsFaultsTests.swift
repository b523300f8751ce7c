import PenstockConformance
import PenstockCore
import PenstockTestKit
import Testing

/// A suite that nothing fails proves nothing: stores that break one rule each must be found.
@Suite(.timeLimit(.minutes(5))) struct SuiteFindsFaultsTests {
    private func rules(about subject: String) -> [ConformanceCase] {
        ConformanceCase.all.filter { $0.subject == subject }
    }

    @Test func aClaimInTheWrongOrder() async throws {
        let harness = TamperedHarness(claim: { Claim(messages: $0.messages.reversed(), nextDue: $0.nextDue) })
        await withKnownIssue {
            for rule in rules(about: "claim") { try await rule.run(on: harness.fresh()) }
        }
        await withKnownIssue {
            try await RandomLives.compare(seed: 1, steps: 400, InMemoryHarness(), harness.fresh())
        }
        await withKnownIssue {
            try await RandomLives.check(seed: 1, steps: 400, harness.fresh())
        }
    }

    @Test func aLateSettleThatClaimsSuccess() async throws {
        let harness = TamperedHarness(settle: { $0.map { $0 == .leaseLost ? .settled(.done) : $0 } })
        await withKnownIssue {
            for rule in rules(about: "lease") { try await rule.run(on: harness.fresh()) }
        }
        await withKnownIssue {
            try await RandomLives.compare(seed: 1, steps: 400, InMemoryHarness(), harness.fresh())
        }
    }

    @Test func aMessageThatIsAcknowledgedAndLost() async throws {
        let harness = TamperedHarness(enqueue: { Array($0.dropLast()) })
        await withKnownIssue {
            for rule in rules(about: "enqueue") { try await rule.run(on: harness.fresh()) }
        }
        await withKnownIssue {
            try await RandomLives.check(seed: 1, steps: 400, harness.fresh())
        }
    }

    /// What a rule says of a deletion that is under way it has to have seen.
    @Test func stepsThatNobodyShows() async throws {
        for rule in rules(about: "deletion") {
            await withKnownIssue { try await rule.run(on: HiddenSteps()) }
        }
    }
}

/// The store in memory, of which it is said that it shows its steps, and which does not.
private struct HiddenSteps: StoreHarness {
    private let base = InMemoryHarness()
    var time: ManualTime { base.time }
    var hasSteps: Bool { true }

    func open() async throws -> any MessageStore { try await base.open() }
    func crash(_ store: any MessageStore) async throws { try await base.crash(store) }
}

/// The store in memory, but for what it is told to do wrong.
private struct TamperedHarness: StoreHarness {
    var claim: @Sendable (Claim) -> Claim = { $0 }
    var settle: @Sendable ([SettleResult]) -> [SettleResult] = { $0 }
    /// Gives what of a batch is stored; the receipts say that all of it was.
    var enqueue: @Sendable ([NewMessage]) -> [NewMessage] = { $0 }
    var base = InMemoryHarness()

    var time: ManualTime { base.time }

    /// The same fault on an empty store.
    func fresh() -> TamperedHarness {
        TamperedHarness(claim: claim, settle: settle, enqueue: enqueue)
    }

    func open() async throws -> any MessageStore {
        TamperedStore(base: try await base.open(), faults: self)
    }

    func crash(_ store: any MessageStore) async throws {
        if let tampered = store as? TamperedStore { try await base.crash(tampered.base) }
    }
}

private final class TamperedStore: ForwardingStore {
    let base: any MessageStore
    private let faults: TamperedHarness

    init(base: any MessageStore, faults: TamperedHarness) {
        self.base = base
        self.faults = faults
    }

    func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        var receipts = try await base.enqueue(faults.enqueue(messages), to: queue, durability: durability)
        while receipts.count < messages.count {
            let last = receipts.last?.sequence.rawValue ?? 0
            receipts.append(Receipt(sequence: SequenceNumber(last + 1), state: .ready, durability: durability))
        }
        return receipts
    }

    func claim(_ request: ClaimRequest) async throws -> Claim { faults.claim(try await base.claim(request)) }

    func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        faults.settle(try await base.settle(settlements))
    }
}
