import PenstockCore
import PenstockTestKit
import ServiceLifecycleTestKit
import Synchronization
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

    /// What holds the file may hold up a worker that has to end.
    @Test func aWorkerThatStopsBeginsNoRound() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        let gate = Tally()
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let options = Worker<Int>.Options(lease: .seconds(600), grace: .seconds(600))
                    try await Worker(queue, options: options) { _ in try await gate.wait(for: 1) }.run()
                }
                try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker)
                trigger.triggerGracefulShutdown()
                // The worker's own, and the grace.
                try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker + 1)
                the.time.advance(by: RateGate.pruneInterval)
                gate.add()
                try await group.waitForAll()
            }
        }
        #expect(the.calls.calls(of: .prune).count == 1)
    }

    @Test func aRoundThatFailsStopsNoWork() async throws {
        let queue = try await the.queue()
        the.calls.fail(.prune, with: PenstockError(.busy, "Somebody else writes."))
        let receipt = try await queue.enqueue(1)
        try await Worker(queue, options: .init(max: 1)) { _ in }.run()
        #expect(try await the.state(receipt) == .done)
    }

    /// Each round is a look at all queues of the store.
    @Test func allWorkersOfAProcessShareARound() async throws {
        let upkeep = Upkeep(handle: the.store.handle)
        for _ in 1...3 { await upkeep.prune() }
        #expect(the.calls.calls(of: .prune).count == 1)
        the.time.advance(by: RateGate.pruneInterval - .microseconds(1))
        await upkeep.prune()
        #expect(the.calls.calls(of: .prune).count == 1)
        the.time.advance(by: .microseconds(1))
        await upkeep.prune()
        #expect(the.calls.calls(of: .prune).count == 2)
    }

    /// A queue that ends more in a minute than one step forgets would grow for good.
    @Test func aRoundForgetsAllThatRetentionLetsGo() async throws {
        let queue = try await the.queue(policy: QueuePolicy(retention: Retention(age: nil, count: 1)))
        let count = 2 * PruneRequest().limit + 2
        try await queue.enqueue(contentsOf: Array(1...count))
        try await queue.purge()
        #expect(try await queue.status().depths.kept == count)
        await Upkeep(handle: the.store.handle).prune()
        #expect(try await queue.status().depths.kept == 1)
    }

    /// A store that says what it was asked to forget.
    private final class AskedStore: ForwardingStore {
        let base: any MessageStore
        let requests = Mutex<[PruneRequest]>([])

        init(_ base: any MessageStore) { self.base = base }

        func prune(_ request: PruneRequest) async throws -> Pruned {
            requests.withLock { $0.append(request) }
            return try await base.prune(request)
        }
    }

    /// Tasks that a dead letter keeps stay for good, and there may be a million.
    @Test func whatIsKeptNeedNotBeLookedAtEachMinute() async throws {
        let asked = AskedStore(the.base)
        let store = PenstockStore(asked, options: .init(time: the.time))
        await Upkeep(handle: store.handle).prune()
        let requests = asked.requests.withLock { $0 }
        #expect(requests.map(\.passesKept) == [true])
        #expect(requests.allSatisfy { $0.queue == nil && $0.retention == nil })
    }
}
