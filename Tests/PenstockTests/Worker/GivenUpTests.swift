import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// No handler begins with a message that its worker has given back.
@Suite(.timeLimit(.minutes(5))) struct GivenUpTests {
    /// Runs a worker, which `worker` knows before there is a message, until it is cancelled.
    ///
    /// - Returns: with how many of so many messages a handler has begun.
    private func begunCount(
        of count: Int, _ the: Fixture, _ worker: Latched<Task<Void, any Error>>
    ) async throws -> Int {
        let queue = try await the.queue()
        let begun = Tally()
        let running = Task {
            try await Worker(queue, options: .init(concurrency: count)) { _ in begun.add() }.run()
        }
        worker.set(running)
        let receipts = try await queue.enqueue(contentsOf: Array(1...count))
        await #expect(throws: CancellationError.self) { try await running.value }
        for receipt in receipts {
            let record = try await the.record(receipt)
            #expect(record.state == .ready)
            #expect(record.attempt == 0)
        }
        return begun.count
    }

    @Test func aClaimThatIsAnsweredAsTheWorkerIsCancelledBeginsNothing() async throws {
        let worker = Latched<Task<Void, any Error>>()
        let the = Fixture({ base in
            interrupted(
                base,
                afterClaim: { claim in
                    guard !claim.messages.isEmpty else { return }
                    worker.value?.cancel()
                })
        })
        #expect(try await begunCount(of: 3, the, worker) == 0)
    }

    /// The worker is cancelled on another thread meanwhile, which gives the message back before it cancels the handler's task.
    @Test func whatIsGivenBackJustBeforeItsHandlerIsCalledBeginsNothing() async throws {
        let worker = Latched<Task<Void, any Error>>()
        // The meter rises as a worker counts a handler as running: the last thing that it does before it calls that.
        let factory = CallingMetrics(meterRises: { worker.value?.cancel() })
        #expect(try await begunCount(of: 1, Fixture(options: .init(metrics: factory)), worker) == 0)
    }
}
