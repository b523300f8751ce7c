import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

/// Which of its claims a worker leaves to others that are about to claim.
@Suite(.timeLimit(.minutes(5))) struct OwedMessagesTests {
    /// What claims have said, in their order: whether they may be left out.
    private final class Noted: Sendable {
        private let noted = Mutex<[Bool]>([])

        var all: [Bool] { noted.withLock { $0 } }

        func note(_ request: ClaimRequest) { noted.withLock { $0.append(request.leavesToOthers) } }
    }

    private struct NotingStore: ForwardingStore {
        let base: any MessageStore
        let noted: Noted

        func claim(_ request: ClaimRequest) async throws -> Claim {
            noted.note(request)
            return try await base.claim(request)
        }
    }

    private let noted = Noted()

    private func fixture() -> Fixture { Fixture({ NotingStore(base: $0, noted: noted) }) }

    /// For what a ring tells of one worker is woken. Should that one leave it, and count the queue as empty, nobody would work it.
    @Test(.inMemory) func whatAWorkerWasWokenForItTakesItself() async throws {
        let the = fixture()
        let queue = try await the.queue()
        let begun = Tally()
        let worker = Task { try await Worker(queue) { _ in begun.add() }.run() }
        try await the.time.waitForSleepers(count: Fixture.sleepersOfIdleWorker)
        #expect(noted.all == [true])
        try await queue.enqueue(1)
        try await begun.wait(for: 1)
        #expect(noted.all.prefix(2) == [true, false])
        worker.cancel()
        _ = await worker.result
    }

    /// It ends when it finds nothing, and so is to be told what there is.
    @Test func aWorkerThatDrainsLeavesNothing() async throws {
        let the = fixture()
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2, 3])
        try await the.drain(queue) { _ in }
        #expect(!noted.all.isEmpty && !noted.all.contains(true))
    }
}
