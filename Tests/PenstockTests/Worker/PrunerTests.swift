import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// A queue that is worked needs nobody to prune it.
@Suite(.timeLimit(.minutes(5))) struct PrunerTests {
    let the = Fixture()

    private func countOfMessages() async throws -> Int {
        try await the.store.list(MessageQuery()).count
    }

    @Test func aWorkerForgetsWhatRetentionLetsGo() async throws {
        let queue = try await the.queue(policy: QueuePolicy(retention: Retention(age: .seconds(30))))
        let receipt = try await queue.enqueue(1)
        let worker = Task { try await Worker(queue) { _ in }.run() }
        try await eventually { try await the.state(receipt) == .done }
        #expect(try await countOfMessages() == 1)
        try await eventually {
            the.time.advance(by: RateGate.pruneInterval)
            return try await countOfMessages() == 0
        }
        worker.cancel()
        _ = await worker.result
    }

    @Test func aRoundThatFailsStopsNoWork() async throws {
        let queue = try await the.queue()
        the.calls.fail(.prune, with: PenstockError(.busy, "Somebody else writes."))
        let receipt = try await queue.enqueue(1)
        try await Worker(queue, options: .init(max: 1)) { _ in }.run()
        #expect(try await the.state(receipt) == .done)
    }
}
