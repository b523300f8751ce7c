import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// A worker of several queues, one of which is deleted.
@Suite(.timeLimit(.minutes(5))) struct GoneQueueTests {
    /// A store that counts how often one queue is claimed from.
    private struct CountedClaims: ForwardingStore {
        let base: any MessageStore
        let queue: QueueName
        let count: Tally

        func claim(_ request: ClaimRequest) async throws -> Claim {
            if request.queue == queue { count.add() }
            return try await base.claim(request)
        }
    }

    /// Otherwise the worker would ask for it without pause from then on.
    @Test func whatWasDueInItIsForgotten() async throws {
        let (name, asked) = (try QueueName("a"), Tally())
        let the = Fixture { CountedClaims(base: $0, queue: name, count: asked) }
        let a = try await the.store.queue("a", of: Int.self)
        let b = try await the.store.queue("b", of: Int.self)
        try await a.enqueue(0, options: .init(due: .after(.seconds(1))))
        try await b.enqueue(0)
        let (begun, gate) = (Tally(), Tally())
        let worker = Task {
            try await Worker([a, b], options: .init(concurrency: 1, ahead: .zero)) { _ in
                begun.add()
                try await gate.wait(for: 1)
            }.run()
        }
        // It has asked the first queue before, and knows when the message there is due.
        try await begun.wait(for: 1)
        #expect(asked.count == 1)
        try await the.store.delete(name, force: true)
        the.time.advance(by: .seconds(2))
        gate.add()
        // It learns with the next claim that the queue is gone, and looks for it again in five seconds.
        for count in 2...21 {
            try await b.enqueue(count)
            try await begun.wait(for: count)
        }
        #expect((2...4).contains(asked.count))
        worker.cancel()
        _ = await worker.result
    }
}
