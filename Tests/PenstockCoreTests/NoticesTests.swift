import PenstockCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct NoticesTests {
    private let notices = Wakeups().notices
    private let queue = QueueName(stored: "jobs")

    @Test func aRingBeforeTheWaitIsNotLost() async throws {
        let before = notices.token(for: queue)
        notices.ring(at: RingBucket.of(queue))
        try await notices.wait(for: queue, after: before)
        #expect(notices.token(for: queue) != before)
    }

    @Test func anotherBucketIsNotHeard() async throws {
        let before = notices.token(for: queue)
        let task = Task { [notices, queue] in try await notices.wait(for: queue, after: before) }
        notices.ring(at: RingBucket.of(queue) ^ 1)
        #expect(notices.token(for: queue) == before)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func allThatWaitAreWoken() async throws {
        let before = notices.token(for: queue)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...9 { group.addTask { [notices, queue] in try await notices.wait(for: queue, after: before) } }
            notices.ring(at: RingBucket.of(queue))
            try await group.waitForAll()
        }
    }

    /// Workers that have nothing in hand wait for messages, and are not woken by what is asked of others.
    @Test func aRingForWorkIsNone() {
        let wakeups = Wakeups()
        let before = wakeups.notices.token(for: queue)
        wakeups.ringAll(at: RingBucket.of(queue))
        #expect(wakeups.notices.token(for: queue) == before)
        wakeups.ring(queue)
        wakeups.ring(nil)
        #expect(wakeups.notices.token(for: queue) == before)
        wakeups.notify(queue)
        #expect(wakeups.notices.token(for: queue) != before)
    }
}
