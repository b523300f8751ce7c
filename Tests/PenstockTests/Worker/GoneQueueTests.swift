import PenstockCore
import PenstockTestKit
import Synchronization
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

    /// A store that tells of one queue at a time, as a server does where a token is for some of them.
    private struct QueuesAlone: ForwardingStore {
        let base: any MessageStore

        func status(of queue: QueueName?) async throws -> StoreStatus {
            if queue == nil { throw PenstockError(.forbidden, "Not of all queues.") }
            return try await base.status(of: queue)
        }
    }

    /// A worker of "a" and "b" finds that the first one is gone. While it works a message of the second one, its handler calls `change`, of
    /// which the worker hears nothing before it claims again.
    ///
    /// - Returns: what began.
    private func work(
        _ the: Fixture, change: @escaping @Sendable (Queue<Int>) async throws -> Void
    ) async throws -> [Int] {
        let a = try await the.store.queue("a", of: Int.self)
        let b = try await the.store.queue("b", of: Int.self)
        try await the.store.delete(a.name)
        try await b.enqueue(1)
        let begun = Mutex<[Int]>([])
        let worker = Task {
            try await Worker([a, b], options: .init(ahead: .zero, max: 2)) { delivery in
                begun.withLock { $0.append(delivery.payload) }
                if delivery.payload == 1 { try await change(b) }
            }.run()
        }
        // One claim of each queue, and the next one of the second: the first one is asked again when five seconds have passed.
        try await the.calls.calls(of: .claim).wait(for: 3)
        try await the.whileTimePasses { try await worker.value }
        return begun.withLock { $0 }
    }

    /// What was found at another moment does not end the worker: at none were all its queues gone.
    @Test(arguments: [true, false]) func aQueueThatWasMadeAnewIsNotTakenForGone(isToldOfAll: Bool) async throws {
        let the = Fixture { isToldOfAll ? silent($0) : QueuesAlone(base: silent($0)) }
        let begun = try await work(the) { [store = the.store] b in
            try await store.queue("a", of: Int.self).enqueue(2)
            try await store.delete(b.name, force: true)
        }
        #expect(begun == [1, 2])
    }

    @Test(arguments: [true, false]) func whenTheLastIsGoneAsWellTheWorkerEnds(isToldOfAll: Bool) async throws {
        let the = Fixture { isToldOfAll ? silent($0) : QueuesAlone(base: silent($0)) }
        let error = await #expect(throws: PenstockError.self) {
            _ = try await work(the) { [store = the.store] b in try await store.delete(b.name, force: true) }
        }
        #expect(error?.code == .unknownQueue)
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
