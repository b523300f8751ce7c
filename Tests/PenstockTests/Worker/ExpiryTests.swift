import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

/// Messages that expire under a worker.
@Suite(.timeLimit(.minutes(5))) struct ExpiryTests {
    let the = Fixture()

    private func queue(_ policy: QueuePolicy = QueuePolicy(groups: .fifo())) async throws -> Queue<Int> {
        try await the.queue(policy: policy)
    }

    /// An idle worker has nothing to claim, and knows when the first one expires.
    @Test func anIdleWorkerEndsThemInTime() async throws {
        let queue = try await queue()
        let worker = Worker(queue, options: .init()) { _ in }
        let run = Task { try await worker.run() }
        try await queue.pauseGroup("a")
        let receipt = try await queue.enqueue(1, options: .init(group: "a", expiry: .after(.seconds(5))))
        #expect(receipt.state == .blocked)
        let expiresAt = try #require(try await the.record(receipt).expiresAt)
        // Time stands before the next look.
        while try await the.state(receipt) == .blocked {
            if the.time.now < expiresAt + .seconds(4) { the.time.advance(by: .milliseconds(100)) }
            await giveWay()
        }
        #expect(try await the.record(receipt).reason == .expired)
        run.cancel()
        _ = try? await run.value
    }

    /// What is scheduled or blocked is nothing that a drain waits for, and neither is the time that it expires at.
    @Test func aDrainDoesNotWaitForThem() async throws {
        let queue = try await queue()
        try await queue.pauseGroup("a")
        let expiry = Expiry.after(.seconds(3600))
        let blocked = try await queue.enqueue(1, options: .init(group: "a", expiry: expiry))
        let scheduled = try await queue.enqueue(2, options: .init(due: .after(.seconds(60)), expiry: expiry))
        try await queue.enqueue(3, options: .init(expiry: expiry))
        let seen = Mutex<[Int]>([])
        try await the.drain(queue) { delivery in seen.withLock { $0.append(delivery.payload) } }
        #expect(seen.withLock { $0 } == [3])
        #expect(try await the.state(blocked) == .blocked)
        #expect(try await the.state(scheduled) == .scheduled)
        #expect(the.time.now < (try #require(try await the.record(blocked).expiresAt)))
    }

    /// A drain goes on through all that has expired, however many steps that takes, to what has not.
    @Test func aDrainGoesOnBehindManyThatHaveExpired() async throws {
        let queue = try await queue(QueuePolicy())
        let count = Limits.expiryCountMax * 2 + 1
        try await queue.enqueue(contentsOf: Array(1...count)) { _ in .init(expiry: .after(.seconds(1))) }
        try await queue.enqueue(0)
        the.time.advance(by: .seconds(1))
        let seen = Mutex<[Int]>([])
        try await the.drain(queue) { delivery in seen.withLock { $0.append(delivery.payload) } }
        #expect(seen.withLock { $0 } == [0])
        #expect(try await queue.status().totals.dropped == count)
    }

    /// A replay is a new message, with all the time it needs.
    @Test func aReplayHasNoExpiry() async throws {
        let queue = try await queue(QueuePolicy())
        let receipt = try await queue.enqueue(1, options: .init(expiry: .after(.seconds(1))))
        the.time.advance(by: .seconds(1))
        try await the.drain(queue) { _ in }
        #expect(try await the.state(receipt) == .dropped)
        #expect(try await the.store.replay(MessageQuery(queue: queue.name)) == 1)
        the.time.advance(by: .seconds(3600))
        let seen = Mutex<[Int]>([])
        try await the.drain(queue) { delivery in seen.withLock { $0.append(delivery.payload) } }
        #expect(seen.withLock { $0 } == [1])
    }
}
