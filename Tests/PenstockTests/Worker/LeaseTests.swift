import MetricsTestKit
import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

/// The leases and timeouts of running handlers.
@Suite(.timeLimit(.minutes(5))) struct WorkerLeaseTests {
    let the = Fixture()

    private var extensions: Tally { the.calls.calls(of: .extend) }

    /// Waits until the worker's keeper sleeps, besides its housekeeper, and moves the clock to its next turn.
    private func passAThird(of lease: Duration) async throws {
        let count = extensions.count
        try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker)
        the.time.advance(by: lease / 3)
        try await extensions.wait(for: count + 1)
    }

    @Test func leasesOfAllThatRunAreExtendedInOneCall() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        let begun = Tally()
        let gate = Tally()
        let worker = Task {
            try await Worker(queue, options: .init(concurrency: 3, lease: .seconds(9), drain: true)) { _ in
                begun.add()
                try await gate.wait(for: 1)
            }.run()
        }
        try await begun.wait(for: 3)
        for third in 1...7 {
            try await passAThird(of: .seconds(9))
            #expect(extensions.count == third)
            _ = try await the.base.reclaim()
            for receipt in receipts { #expect(try await the.state(receipt) == .leased) }
        }
        gate.add()
        try await worker.value
        #expect(try await queue.status().totals.done == 3)
    }

    /// Its worker comes to extend it long after that.
    @Test func aHandlerDoesNotMakeItsLeaseShorter() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let extended = Tally()
        let gate = Tally()
        let worker = Task {
            try await Worker(queue, options: .init(lease: .seconds(30), drain: true)) { delivery in
                try await delivery.extend(by: .seconds(5))
                extended.add()
                try await gate.wait(for: 1)
            }.run()
        }
        try await extended.wait(for: 1)
        the.time.advance(by: .seconds(6))
        _ = try await the.base.reclaim()
        #expect(try await the.state(receipt) == .leased)
        gate.add()
        try await worker.value
        #expect(try await the.record(receipt).attempt == 1)
    }

    @Test func aHandlerWhoseLeaseIsLostIsCancelledAndItsResultIgnored() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        let begun = Tally()
        let gate = Tally()
        let cancelled = Mutex<[Int]>([])
        let worker = Task {
            try await Worker(queue, options: .init(concurrency: 2, lease: .seconds(9), drain: true)) { delivery in
                begun.add()
                do {
                    try await gate.wait(for: 1)
                } catch {
                    cancelled.withLock { $0.append(delivery.payload) }
                }
            }.run()
        }
        try await begun.wait(for: 2)
        try await the.store.cancelNow([receipts[0].sequence])
        try await passAThird(of: .seconds(9))
        try await eventually { cancelled.withLock { $0 } == [1] }
        gate.add()
        try await worker.value
        #expect(cancelled.withLock { $0 } == [1])
        #expect(try await the.state(receipts[0]) == .cancelled)
        #expect(try await the.state(receipts[1]) == .done)
    }

    @Test func aHandlerThatSettlesItselfJustBeforeAnExtensionHasNotLostItsLease() async throws {
        let (begun, settling, settled, gate) = (Tally(), Tally(), Tally(), Tally())
        let metrics = TestMetrics()
        let the = Fixture(
            {
                interrupted($0) {
                    settling.add()
                    try await settled.wait(for: 1)
                }
            }, options: .init(metrics: metrics))
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        // The keeper of leases sleeps again as long as there is another one.
        try await queue.enqueue(2)
        let worker = Task {
            try await Worker(queue, options: .init(concurrency: 2, lease: .seconds(9), max: 2)) { delivery in
                begun.add()
                if delivery.payload == 1 {
                    try await settling.wait(for: 1)
                    try await delivery.done()
                    settled.add()
                }
                try await gate.wait(for: 1)
            }.run()
        }
        try await begun.wait(for: 2)
        try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker)
        the.time.advance(by: .seconds(3))
        // When the keeper sleeps again it has judged the extension.
        try await settled.wait(for: 1)
        try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker)
        gate.add()
        try await worker.value
        #expect(metrics.counterTotal(label: "penstock.lease_lost") == 0)
        #expect(try await the.state(receipt) == .done)
    }

    @Test func anExtensionThatFailedIsTriedAgain() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let begun = Tally()
        let gate = Tally()
        let worker = Task {
            try await Worker(queue, options: .init(lease: .seconds(9), drain: true)) { _ in
                begun.add()
                try await gate.wait(for: 1)
            }.run()
        }
        try await begun.wait(for: 1)
        the.calls.fail(.extend, with: PenstockError(.busy, "Busy."))
        try await passAThird(of: .seconds(9))
        try await passAThird(of: .seconds(9))
        try await passAThird(of: .seconds(9))
        _ = try await the.base.reclaim()
        #expect(try await the.state(receipt) == .leased)
        gate.add()
        try await worker.value
        #expect(try await the.state(receipt) == .done)
    }

    // MARK: Timeouts

    @Test func aHandlerThatRunsTooLongIsCancelledAndItsMessageComesBack() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        let begun = Tally()
        let worker = Task {
            try await Worker(queue, options: .init(timeout: .seconds(2), drain: true)) { _ in
                begun.add()
                try await Tally().wait(for: 1)
            }.run()
        }
        try await begun.wait(for: 1)
        try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker + 1)
        the.time.advance(by: .seconds(2))
        try await worker.value
        let record = try await the.record(receipt)
        #expect(record.state == .scheduled)
        #expect(record.attempts.map(\.outcome) == [.timedOut])
        #expect(record.attempts.first?.error.contains("2.0 seconds") == true)
    }

    @Test func aHandlerThatIgnoresItsTimeoutLosesItsLease() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let (begun, cancelled) = (Tally(), Tally())
        let gate = Stubborn()
        let start = the.time.now
        let worker = Task {
            try await Worker(queue, options: .init(lease: .seconds(9), timeout: .seconds(2), max: 1)) { _ in
                begun.add()
                await withTaskCancellationHandler {
                    await gate.wait()
                } onCancel: {
                    cancelled.add()
                }
            }.run()
        }
        try await begun.wait(for: 1)
        try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker + 1)
        the.time.advance(by: .seconds(2))
        try await cancelled.wait(for: 1)
        // The keeper has its turns and leaves the lease alone, so it ends though the worker lives.
        for second in [3, 6] {
            the.time.advance(to: start + .seconds(second))
            try await eventually { the.time.nextDeadline == start + .seconds(second + 3) }
        }
        #expect(extensions.count == 0)
        the.time.advance(to: start + .seconds(9))
        _ = try await the.base.reclaim()
        #expect(try await the.record(receipt).attempts.map(\.outcome) == [.leaseExpired])
        gate.open()
        try await worker.value
        #expect(try await the.state(receipt) == .ready)
    }

    @Test func aHandlerInTimeIsNotTimedOut() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await Worker(queue, options: .init(timeout: .seconds(2), drain: true)) { _ in }.run()
        #expect(try await the.state(receipt) == .done)
        #expect(the.time.sleeperCount == 0)
    }
}

/// A gate whose waiters ignore cancellation.
final class Stubborn: Sendable {
    private let state = Mutex<(isOpen: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    func open() {
        let waiters = state.withLock { state in
            defer { state = (true, []) }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
