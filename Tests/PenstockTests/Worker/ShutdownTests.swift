import Logging
import Penstock
import PenstockCore
import PenstockTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization
import Testing

/// How a worker stops.
@Suite(.timeLimit(.minutes(5))) struct WorkerShutdownTests {
    let the = Fixture()

    /// A worker under way whose handlers wait for the gate, and what they saw.
    final class Scene: Sendable {
        let begun = Tally()
        let cancelled = Tally()
        let gate = Tally()
        let stubbornGate = Stubborn()

        func handle() async throws {
            begun.add()
            do {
                try await gate.wait(for: 1)
            } catch {
                cancelled.add()
                throw error
            }
        }

        func handleStubbornly() async {
            begun.add()
            await withTaskCancellationHandler {
                await stubbornGate.wait()
            } onCancel: {
                cancelled.add()
            }
        }
    }

    let scene = Scene()

    // MARK: Gracefully

    @Test func aGracefulShutdownClaimsNoMoreAndWaitsForWhatRuns() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { [scene] in
                    try await Worker(queue, options: .init(concurrency: 2)) { _ in try await scene.handle() }.run()
                }
                try await scene.begun.wait(for: 2)
                trigger.triggerGracefulShutdown()
                // The worker's own, and the grace.
                try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker + 1)
                scene.gate.add()
                try await group.waitForAll()
            }
        }
        #expect(try await the.state(receipts[0]) == .done)
        #expect(try await the.state(receipts[1]) == .done)
        #expect(try await the.state(receipts[2]) == .ready)
        #expect(scene.cancelled.count == 0)
        #expect(the.time.sleeperCount == 0)
    }

    @Test func aGracefulShutdownEndsAWorkerThatWaits() async throws {
        let queue = try await the.queue()
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Worker(queue) { _ in }.run() }
                try await the.time.waitForSleepers(count: Fixture.sleepersOfIdleWorker)
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        #expect(the.time.sleeperCount == 0)
        #expect(the.base.changes.waiterCount == 0)
    }

    @Test func whenGraceIsOverHandlersAreCancelledAndTheirMessagesGivenBack() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { [scene] in
                    try await Worker(queue, options: .init(grace: .seconds(5))) { _ in try await scene.handle() }.run()
                }
                try await scene.begun.wait(for: 1)
                trigger.triggerGracefulShutdown()
                try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker + 1)
                the.time.advance(by: .seconds(5))
                try await group.waitForAll()
            }
        }
        #expect(scene.cancelled.count == 1)
        let record = try await the.record(receipt)
        #expect(record.state == .ready)
        #expect(record.attempt == 0)
        #expect(record.attempts.isEmpty)
    }

    @Test func aStubbornHandlersMessageIsGivenBackAtOnceAndTheWorkerWaitsForIt() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let ended = Tally()
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { [scene] in
                    try await Worker(queue, options: .init(grace: .zero)) { _ in await scene.handleStubbornly() }.run()
                    ended.add()
                }
                try await scene.begun.wait(for: 1)
                trigger.triggerGracefulShutdown()
                try await eventually { try await the.state(receipt) == .ready }
                #expect(ended.count == 0)
                #expect(scene.cancelled.count == 1)

                // Another worker has it meanwhile, and the first one's late end changes nothing.
                var other = queue.deliveries().makeAsyncIterator()
                let delivery = try await other.next()
                scene.stubbornGate.open()
                try await group.waitForAll()
                #expect(try await the.state(receipt) == .leased)
                try await delivery?.done()
            }
        }
        #expect(try await the.state(receipt) == .done)
    }

    @Test func inAServiceGroup() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let worker = Worker(queue) { [scene] _ in try await scene.handle() }
        let services = ServiceGroup(services: [worker], logger: Logger(label: "test"))
        let running = Task { try await services.run() }
        try await scene.begun.wait(for: 1)
        await services.triggerGracefulShutdown()
        try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker + 1)
        scene.gate.add()
        try await running.value
        #expect(try await the.state(receipt) == .done)
    }

    // MARK: By cancellation

    @Test func cancellingTheWorkerCancelsHandlersAndGivesTheirMessagesBack() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        let worker = Task { [scene] in
            try await Worker(queue, options: .init(concurrency: 2)) { _ in try await scene.handle() }.run()
        }
        try await scene.begun.wait(for: 2)
        worker.cancel()
        await #expect(throws: CancellationError.self) { try await worker.value }
        #expect(scene.cancelled.count == 2)
        for receipt in receipts {
            let record = try await the.record(receipt)
            #expect(record.state == .ready)
            #expect(record.attempt == 0)
            #expect(record.attempts.isEmpty)
        }
        #expect(the.time.sleeperCount == 0)
        #expect(the.base.changes.waiterCount == 0)
    }

    @Test func whatWasHandedOutAndHadNotBegunIsGivenBack() async throws {
        /// Cancels the worker while it opens a message for its handler.
        struct Cancelling: PayloadCodec {
            let worker: Latched<Task<Void, any Error>>

            func encode(_ element: Int) -> [UInt8] { [UInt8(element)] }
            func decode(_ bytes: [UInt8]) -> Int {
                worker.value?.cancel()
                return Int(bytes[0])
            }
        }
        let codec = Cancelling(worker: Latched())
        let queue = try await the.store.queue("q", codec: codec)
        try await queue.pause()
        let receipt = try await queue.enqueue(1)
        let worker = Task { [scene] in
            try await Worker(queue) { _ in try await scene.handle() }.run()
        }
        codec.worker.set(worker)
        try await queue.resume()
        try await eventually {
            the.time.advanceToNextDeadline()
            return worker.isCancelled
        }
        await #expect(throws: CancellationError.self) { try await worker.value }
        #expect(scene.begun.count == 0)
        #expect(try await the.state(receipt) == .ready)
    }

    @Test func cancellingGivesAStubbornHandlersMessageBackAtOnce() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let worker = Task { [scene] in
            try await Worker(queue) { _ in await scene.handleStubbornly() }.run()
        }
        try await scene.begun.wait(for: 1)
        worker.cancel()
        try await eventually { try await the.state(receipt) == .ready }
        scene.stubbornGate.open()
        await #expect(throws: CancellationError.self) { try await worker.value }
        #expect(try await the.state(receipt) == .ready)
    }

    @Test func cancellingDuringAGracefulShutdownEndsTheGrace() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await testGracefulShutdown { trigger in
            let worker = Task { [scene] in
                try await Worker(queue) { _ in try await scene.handle() }.run()
            }
            try await scene.begun.wait(for: 1)
            trigger.triggerGracefulShutdown()
            try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker + 1)
            worker.cancel()
            await #expect(throws: CancellationError.self) { try await worker.value }
        }
        #expect(try await the.state(receipt) == .ready)
    }

    @Test(arguments: 1..<25)
    func aStormOfCancelledWorkersLosesNothing(seed: UInt64) async throws {
        let random = SeededRandom(seed: seed)
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(0..<100))
        let begun = Tally()
        for round in 1...6 {
            let worker = Task {
                try await Worker(queue, options: .init(concurrency: 5)) { _ in
                    begun.add()
                    for _ in 0..<3 { await Task.yield() }
                    try Task.checkCancellation()
                }.run()
            }
            try await begun.wait(for: min(95, begun.count + random.next(in: 0...10)))
            worker.cancel()
            _ = await worker.result
            #expect(try await queue.status().depths.leased == 0, "round \(round)")
        }
        try await Worker(queue, options: .init(concurrency: 5, drain: true)) { _ in }.run()
        let status = try await queue.status()
        #expect(status.totals.done == 100)
        #expect(status.totals.retried == 0)
    }
}

/// A value that is set later.
final class Latched<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)

    var value: Value? { state.withLock { $0 } }

    func set(_ value: Value) {
        state.withLock { $0 = value }
    }
}
