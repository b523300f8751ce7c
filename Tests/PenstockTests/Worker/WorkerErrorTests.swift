import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// What the store's errors do to a worker.
@Suite(.timeLimit(.minutes(1))) struct WorkerErrorTests {
    let the = Fixture()
    let scene = WorkerShutdownTests.Scene()

    @Test func whenClaimingFailsHandlersEndFirst() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        the.calls.fail(.claim, at: 2, with: PenstockError(.corrupt, "Damaged."))
        let worker = Task { [scene] in
            try await Worker(queue, options: .init(concurrency: 2)) { _ in try await scene.handle() }.run()
        }
        try await scene.begun.wait(for: 1)
        try await queue.enqueue(2)
        try await the.calls.calls(of: .claim).wait(for: 2)
        scene.gate.add()
        let error = await #expect(throws: PenstockError.self) { try await worker.value }
        #expect(error?.code == .corrupt)
        #expect(try await the.state(receipt) == .done)
    }

    /// One verdict that the store refuses spoils none of those that went with it.
    @Test func verdictsThatFailTogetherAreHandedInAlone() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        the.calls.fail(.settle, with: PenstockError(.busy, "Busy."))
        let begun = Tally()
        try await Worker(queue, options: .init(concurrency: 3, drain: true)) { _ in
            begun.add()
            try await begun.wait(for: 3)
        }.run()
        for receipt in receipts { #expect(try await the.state(receipt) == .done) }
    }

    @Test func aSettleThatFailsStopsNobody() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        // Together with a claim, and then alone.
        for call in 1...2 { the.calls.fail(.settle, at: call, with: PenstockError(.busy, "Busy.")) }
        try await Worker(queue, options: .init(drain: true)) { _ in }.run()
        #expect(try await the.state(receipts[0]) == .leased)
        #expect(try await the.state(receipts[1]) == .done)
        the.time.advance(by: .seconds(30))
        try await Worker(queue, options: .init(drain: true)) { _ in }.run()
        #expect(try await the.state(receipts[0]) == .done)
    }
}
