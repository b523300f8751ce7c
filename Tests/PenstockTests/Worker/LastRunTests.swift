import PenstockCore
import PenstockTestKit
import ServiceLifecycleTestKit
import Synchronization
import Testing

@testable import Penstock

/// A worker that ends leaves no handler behind, and no message, and keeps no wake-up to itself.
@Suite(.timeLimit(.minutes(5))) struct LastRunTests {
    let scene = WorkerShutdownTests.Scene()

    enum Ending: CaseIterable {
        case endOfGrace, cancellation
    }

    /// The lease is gone, and the handler still there.
    @Test(arguments: Ending.allCases)
    func aHandlerThatHasSettledByItselfIsCancelledToo(_ ending: Ending) async throws {
        let the = Fixture()
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await testGracefulShutdown { trigger in
            let worker = Task { [scene] in
                try await Worker(queue, options: .init(grace: .zero)) { delivery in
                    try await delivery.done()
                    try await scene.handle()
                }.run()
            }
            try await scene.begun.wait(for: 1)
            switch ending {
            case .endOfGrace: trigger.triggerGracefulShutdown()
            case .cancellation: worker.cancel()
            }
            _ = await worker.result
        }
        #expect(scene.cancelled.count == 1)
        #expect(try await the.state(receipt) == .done)
    }

    /// A handler may leave between the moment it is given up and the moment its message is handed in for that. The worker's
    /// keeper of leases stands here for the thread that was stopped in between: it ends last.
    @Test func whatIsHandedInAfterTheLastRoundIsSettled() async throws {
        let extending = Tally()
        let handInLate = Latched<@Sendable () -> Void>()
        let the = Fixture({
            interrupted(
                $0,
                beforeExtend: {
                    extending.add()
                    // Until the worker cancels what is left.
                    try? await Tally().wait(for: 1)
                    handInLate.value?()
                })
        })
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        let run = WorkerRun(queues: [queue], options: .init(lease: .seconds(9), max: 1)) { [scene] _ in
            try await scene.handle()
        }
        var claimLoop = ClaimLoop(run.holders)
        let message = try #require(try await claimLoop.next(upTo: 1).first)
        let released = HandlerSlots.Finished(claimed: HandlerSlots.Claimed(message), verdict: .release)
        handInLate.set { run.slots.handIn(released) }
        let worker = Task { try await run.run() }
        try await scene.begun.wait(for: 1)
        try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker)
        the.time.advance(by: .seconds(3))
        try await extending.wait(for: 1)
        scene.gate.add()
        try await worker.value
        #expect(try await the.state(receipts[0]) == .ready)
        #expect(try await the.state(receipts[1]) == .done)
    }

    /// Does something once, at the next claim.
    private final class Hook: Sendable {
        private let body = Mutex<(@Sendable () async throws -> Void)?>(nil)

        func set(_ body: @escaping @Sendable () async throws -> Void) {
            self.body.withLock { $0 = body }
        }

        func run() async throws {
            try await body.withLock { $0.take() }?()
        }
    }

    /// For each message one worker is woken, in whichever process. One that ends as it is woken must not keep that to itself.
    @Test func whoStopsAsItIsWokenWakesAnother() async throws {
        let hook = Hook()
        let the = Fixture({ interrupted($0) { _ in try await hook.run() } })
        let queue = try await the.queue()
        let receipt = Mutex<Receipt?>(nil)
        try await testGracefulShutdown { trigger in
            hook.set {
                let sent = try await queue.enqueue(1)
                receipt.withLock { $0 = sent }
                trigger.triggerGracefulShutdown()
            }
            try await Worker(queue) { _ in Issue.record("It was to stop.") }.run()
        }
        #expect(the.calls.calls(of: .claim).count == 2)
        #expect(the.calls.calls(of: .settle).count == 1)
        let sent = try #require(receipt.withLock { $0 })
        #expect(try await the.state(sent) == .ready)
        #expect(try await the.record(sent).attempt == 0)
    }

    /// Nobody else was woken for the message that the claim would have given.
    @Test func whoStopsAsTheStoreFailsWakesAnother() async throws {
        let hook = Hook()
        let the = Fixture({ interrupted($0) { _ in try await hook.run() } })
        let queue = try await the.queue()
        let receipt = Mutex<Receipt?>(nil)
        try await testGracefulShutdown { [calls = the.calls] trigger in
            hook.set {
                let sent = try await queue.enqueue(1)
                receipt.withLock { $0 = sent }
                calls.fail(.claim, with: PenstockError(.busy, "Another process holds the lock."))
            }
            async let stop: Void = {
                try await calls.calls(of: .claim).wait(for: 2)
                trigger.triggerGracefulShutdown()
            }()
            try await Worker(queue) { _ in Issue.record("It was to stop.") }.run()
            try await stop
        }
        #expect(the.calls.calls(of: .claim).count == 3)
        #expect(the.calls.calls(of: .settle).count == 1)
        let sent = try #require(receipt.withLock { $0 })
        #expect(try await the.state(sent) == .ready)
        #expect(try await the.record(sent).attempt == 0)
    }

    /// News of the log is no message: nobody has to be woken instead of the worker.
    @Test func whoStopsAfterNewsOfTheLogClaimsNothingMore() async throws {
        let hook = Hook()
        let the = Fixture({ interrupted($0) { _ in try await hook.run() } })
        let queue = try await the.queue()
        try await testGracefulShutdown { trigger in
            hook.set { [changes = the.base.changes] in
                changes.ringAll(at: RingBucket.of(queue.name), for: .log)
                trigger.triggerGracefulShutdown()
            }
            try await Worker(queue) { _ in }.run()
        }
        #expect(the.calls.calls(of: .claim).count == 1)
    }
}
