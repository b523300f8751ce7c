import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// What somebody beside a worker is told of what it has in its hands.
@Suite(.timeLimit(.minutes(5))) struct HeldLeasesTests {
    /// From the claim until the store has taken the verdict: a process that ended between the two would lose it.
    @Test func aMessageIsHeldUntilItIsSettled() async throws {
        let held = HeldLeases()
        let settled = Tally()
        let queue = try await Fixture({ base in
            AskedStore(base: base) {
                #expect(!held.isEmpty)
                settled.add()
            }
        }).queue()
        try await queue.enqueue(1)
        var worker = Worker(queue, options: .init(drain: true)) { _ in #expect(!held.isEmpty) }
        worker.heldLeases = held
        #expect(held.isEmpty)
        try await worker.run()
        #expect(settled.count > 0)
        #expect(held.isEmpty)
    }

    /// A store that asks something when it is given a verdict.
    private struct AskedStore: ForwardingStore {
        let base: any MessageStore
        let ask: @Sendable () -> Void

        func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
            ask()
            return try await base.settle(settlements)
        }
    }
}
