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
        let looks = Tally()

        init(_ base: any MessageStore) { self.base = base }

        func status(of queue: QueueName?) async throws -> StoreStatus {
            looks.add()
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
        store = PenstockStore(half, options: .init(logger: log.logger, time: time))
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
        let told = TestLog()
        let notice = DeletionNotice(time: time) { queue in
            if queue == a { return deleted.withLock { $0 } }
            throw PenstockError(.forbidden, "No.")
        } say: { sentence in
            told.logger.warning("\(sentence)")
        }
        notice.begin([a, b])
        await notice.look()
        #expect(told.lines == [])
        _ = deleted.withLock { $0.insert(a) }
        for _ in 1...2 {
            await notice.look()
            #expect(told.lines.map { $0.prefix(30) } == ["The queue 'a' is being deleted"])
        }
        // Made anew, and deleted again.
        _ = deleted.withLock { $0.remove(a) }
        await notice.look()
        _ = deleted.withLock { $0.insert(a) }
        await notice.look()
        #expect(told.lines.count == 2)
        // A worker that comes after those says it as well.
        notice.end([a, b])
        notice.begin([a])
        await notice.look()
        #expect(told.lines.count == 3)
    }

    /// A program may have hundreds of workers and queues, and each look goes through all that is in hand.
    @Test func allWorkersOfAProcessLookTogether() async throws {
        let (a, b) = (try QueueName("a"), try QueueName("b"))
        let asked = Mutex<[QueueName?]>([])
        let told = TestLog()
        let notice = DeletionNotice(time: time) { queue in
            asked.withLock { $0.append(queue) }
            return [b]
        } say: { sentence in
            told.logger.warning("\(sentence)")
        }
        #expect(!notice.tryPass(), "Nobody works.")
        for queue in [a, b, b] { notice.begin([queue]) }
        #expect((1...3).filter { _ in notice.tryPass() } == [1])
        await notice.look()
        #expect(asked.withLock { $0 } == [nil])
        #expect(told.lines.map { $0.prefix(30) } == ["The queue 'b' is being deleted"])
        time.advance(by: .seconds(60))
        #expect((1...3).filter { _ in notice.tryPass() } == [1])
    }

    /// Else one that drains each minute could take the place of every look at the queues of the others.
    @Test func oneThatDrainsLooksForAllWhereThatIsDue() async throws {
        let (a, b) = (try QueueName("a"), try QueueName("b"))
        let asked = Mutex<[QueueName?]>([])
        let told = TestLog()
        let notice = DeletionNotice(time: time) { queue in
            asked.withLock { $0.append(queue) }
            return [a]
        } say: { sentence in
            told.logger.warning("\(sentence)")
        }
        for queue in [a, b] { notice.begin([queue]) }
        for _ in 1...2 { await notice.wait(for: notice.beginLook(at: [b])) }
        #expect(asked.withLock { $0 } == [nil, b])
        #expect(told.lines.map { $0.prefix(30) } == ["The queue 'a' is being deleted"])
    }

    @Test func workersOfOneStoreMakeOneLookAtTheirStart() async throws {
        let queue = try await store.queue("q", of: Int.self)
        let before = half.looks.count
        let workers = (1...3).map { _ in Task { try await Worker(queue) { _ in }.run() } }
        try await time.waitForSleepers(count: 3 * Fixture.sleepersOfIdleWorker)
        try await half.looks.wait(for: before + 1)
        for worker in workers { worker.cancel() }
        for worker in workers { _ = await worker.result }
        #expect(half.looks.count == before + 1)
    }
}
