import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// What the store's errors do to a reader that is asked for messages ahead of their coming.
@Suite(.timeLimit(.minutes(5))) struct DeliveryEngineErrorTests {
    let the = Fixture()
    let came = Tally()

    private func engine(_ queue: Queue<Int>, _ give: @escaping @Sendable (Delivery<Int>) -> Void) -> DeliveryEngine<Int>
    {
        DeliveryEngine(queue: queue, inFlightMax: 2, lease: .seconds(30)) { [came] delivery in
            give(delivery)
            came.add()
            return true
        }
    }

    @Test(arguments: WorkerErrorTests.passing)
    func aReaderOutlivesAStoreThatFailsForAWhile(_ code: PenstockError.Code) async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2, 3])
        the.calls.fail(every: [.claim], with: PenstockError(code, "It may pass."))
        let given = Mutex<[Delivery<Int>]>([])
        let engine = engine(queue) { delivery in given.withLock { $0.append(delivery) } }
        let reader = Task { await engine.run() }
        engine.request(2)
        try await the.whileTimePasses { try await the.calls.calls(of: .claim).wait(for: 5) }
        #expect(came.count == 0)

        the.calls.heal()
        try await the.whileTimePasses { try await came.wait(for: 2) }
        for delivery in given.withLock({ $0 }) { try await delivery.done() }
        engine.cancel()
        #expect(await reader.value == nil)
        #expect(given.withLock { $0.map(\.payload) } == [1, 2], "What was asked for before it failed, and no more.")
        let status = try await queue.status()
        #expect(status.totals.done == 2)
        #expect(status.depths.ready == 1)
    }

    @Test(arguments: WorkerErrorTests.lasting)
    func aReaderEndsForWhatCannotPass(_ code: PenstockError.Code) async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        the.calls.fail(every: [.claim], with: PenstockError(code, "It stays so."))
        let engine = engine(queue) { _ in }
        engine.request(1)
        #expect((await engine.run() as? PenstockError)?.code == code)
        #expect(the.calls.calls(of: .claim).count == 1)
        #expect(came.count == 0)
    }
}
