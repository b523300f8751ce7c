import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// What becomes of messages for which one worker alone was woken.
@Suite(.timeLimit(.minutes(5))) struct OwedMessagesTests {
    /// What claims have said, in their order: whether they may be left out.
    private final class Noted: Sendable {
        private let noted = Mutex<[Bool]>([])

        var all: [Bool] { noted.withLock { $0 } }

        func note(_ request: ClaimRequest) { noted.withLock { $0.append(request.leavesToOthers) } }
    }

    private struct NotingStore: ForwardingStore {
        let base: any MessageStore
        let noted: Noted

        func claim(_ request: ClaimRequest) async throws -> Claim {
            noted.note(request)
            return try await base.claim(request)
        }
    }

    /// A clock that does something when it is read next.
    private final class ActingTime: TimeSource {
        private let base: ManualTime
        private let act = Mutex<(@Sendable () -> Void)?>(nil)

        init(_ base: ManualTime) { self.base = base }

        var now: Timestamp { base.now }

        var boot: BootTime {
            let act = act.withLock { $0.take() }
            act?()
            return base.boot
        }

        func sleep(until deadline: Timestamp) async throws { try await base.sleep(until: deadline) }

        func sleep(for duration: Duration) async throws { try await base.sleep(for: duration) }

        func whenRead(_ act: @escaping @Sendable () -> Void) { self.act.withLock { $0 = act } }
    }

    private let noted = Noted()

    private func fixture() -> Fixture { Fixture({ NotingStore(base: $0, noted: noted) }) }

    /// For what a ring tells of one worker is woken. Should that one leave it, and count the queue as empty, nobody would work it.
    @Test(.inMemory) func whatAWorkerWasWokenForItTakesItself() async throws {
        let the = fixture()
        let queue = try await the.queue()
        let begun = Tally()
        let worker = Task { try await Worker(queue) { _ in begun.add() }.run() }
        try await the.time.waitForSleepers(count: Fixture.sleepersOfIdleWorker)
        #expect(noted.all == [true])
        try await queue.enqueue(1)
        try await begun.wait(for: 1)
        #expect(noted.all.prefix(2) == [true, false])
        worker.cancel()
        _ = await worker.result
    }

    /// It ends when it finds nothing, and so is to be told what there is.
    @Test func aWorkerThatDrainsLeavesNothing() async throws {
        let the = fixture()
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2, 3])
        try await the.drain(queue) { _ in }
        #expect(!noted.all.isEmpty && !noted.all.contains(true))
    }

    /// The worker is told to stop between its look at what it was woken for and the end of its round, in which it looks at its clock.
    @Test(.inMemory) func whatAStopKeepsAWorkerFromIsPassedOn() async throws {
        let the = fixture()
        let time = ActingTime(the.time)
        let queue = try await PenstockStore(the.calls, options: .init(time: time)).queue("q", of: Int.self)
        let run = WorkerRun(queues: [queue], options: .init()) { _ in }
        let worker = Task { try await run.run() }
        try await the.time.waitForSleepers(count: Fixture.sleepersOfIdleWorker)
        // The housekeeper has looked at the clock before.
        try await the.calls.calls(of: .prune).wait(for: 1)
        #expect(noted.all == [true])
        time.whenRead { run.stop() }
        _ = try await the.base.enqueue([NewMessage(payload: [49])], to: queue.name, durability: .processCrash)
        try await worker.value
        // It has claimed the message to give it back, which wakes another worker.
        #expect(noted.all == [true, false])
        #expect(try await the.base.status(of: queue.name).queues.map(\.depths.ready) == [1])
    }
}
