import Logging
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// What a worker says of queues that give nothing, as they are being deleted.
@Suite(.timeLimit(.minutes(5))) struct DeletionNoticeTests {
    /// A store in which the deletion of all queues has begun, once somebody says so.
    private final class HalfDeletedStore: ForwardingStore {
        let base: any MessageStore
        let hasBegun = Mutex(false)

        init(_ base: any MessageStore) { self.base = base }

        func status(of queue: QueueName?) async throws -> StoreStatus {
            var status = try await base.status(of: queue)
            for index in status.queues.indices { status.queues[index].isDeleting = hasBegun.withLock { $0 } }
            return status
        }
    }

    private let log = TestLog(from: .warning)
    private let time = ManualTime()
    private let half: HalfDeletedStore
    private let store: PenstockStore

    init() {
        half = HalfDeletedStore(TestDatabase(time: time).open())
        var options = PenstockStore.Options()
        options.time = time
        options.logger = log.logger
        store = PenstockStore(half, options: options)
    }

    @Test func aWorkerThatDrainsSaysWhyThereIsNothing() async throws {
        let queue = try await store.queue("q", of: Int.self)
        try await Worker(queue, options: .init(drain: true)) { _ in }.run()
        #expect(log.lines == [])
        half.hasBegun.withLock { $0 = true }
        try await Worker(queue, options: .init(drain: true)) { _ in }.run()
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.hasPrefix("The queue 'q' is being deleted, or copied here") == true)
    }

    /// A worker that was there before learns of it, and says it once.
    @Test func aWorkerThatStaysLearnsOfIt() async throws {
        let queue = try await store.queue("q", of: Int.self)
        let worker = Task { try await Worker(queue) { _ in }.run() }
        try await time.waitForSleepers(count: Fixture.sleepersOfIdleWorker)
        half.hasBegun.withLock { $0 = true }
        try await eventually {
            time.advance(by: .seconds(60))
            return !log.lines.isEmpty
        }
        worker.cancel()
        _ = await worker.result
        #expect(log.lines.count == 1)
    }

    @Test func itIsSaidOnceOfEachQueue() async throws {
        let (a, b) = (try QueueName("a"), try QueueName("b"))
        let deleted = Mutex<Set<QueueName>>([])
        let (told, asked) = (TestLog(), Tally())
        let notice = DeletionNotice(of: [a, b]) { queue in
            if queue == b {
                asked.add()
                throw PenstockError(.forbidden, "No.")
            }
            return deleted.withLock { $0.contains(queue) }
        } say: { sentence in
            told.logger.warning("\(sentence)")
        }
        await notice.look()
        #expect(told.lines == [])
        _ = deleted.withLock { $0.insert(a) }
        for _ in 1...2 {
            await notice.look()
            #expect(told.lines.map { $0.prefix(30) } == ["The queue 'a' is being deleted"])
        }
        #expect(asked.count == 1, "Of one that it may not know it asks no more.")
        // Made anew, and deleted again.
        _ = deleted.withLock { $0.remove(a) }
        await notice.look()
        _ = deleted.withLock { $0.insert(a) }
        await notice.look()
        #expect(told.lines.count == 2)
    }
}
