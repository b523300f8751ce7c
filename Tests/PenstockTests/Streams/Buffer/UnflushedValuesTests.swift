import Penstock
import PenstockCore
import PenstockStreams
import PenstockTestKit
import Synchronization
import Testing

/// A stream goes on when its values are committed, and hands each out when it is on the disk.
@Suite(.timeLimit(.minutes(5))) final class UnflushedValuesTests: Sendable {
    /// A store whose disk is slow: what is committed is flushed when the test says so.
    private final class SlowDisk: ForwardingStore {
        let base: any MessageStore
        private let waiting = Mutex<[Flushed]>([])
        let refusal = Mutex<PenstockError?>(nil)

        init(_ base: any MessageStore) {
            self.base = base
        }

        func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
            if let refusal = refusal.withLock({ $0 }) { throw refusal }
            let performed = try await base.perform(operations)
            if let flushed { waiting.withLock { $0.append(flushed) } }
            return performed
        }

        /// Ends the first flush that is under way.
        func flush(_ failure: (any Error)? = nil) throws {
            let first = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            let flushed = try #require(first)
            flushed(failure)
        }
    }

    private let fixture = Fixture()
    private let disk: SlowDisk
    private let executor = IdleExecutor(isSerial: true)
    private let subject = AsyncPassthroughSubject<Int, Never>()
    private let given = Mutex<[Int]>([])

    init() {
        disk = SlowDisk(fixture.base)
    }

    /// The values that the stream's consumer takes, each for a second.
    private func stream() async throws -> Task<(values: [Int], failure: (any Error)?), Never> {
        let queue = try await PenstockStore(disk, options: .init(time: fixture.time)).queue("q", of: Int.self)
        let work = Streaming(time: fixture.time).work(.seconds(1))
        let stream = subject.buffer(size: 4, prefetch: .keepFull, whenFull: .wait, in: queue)
            .flatMap(maxConcurrent: 1) { [self] value in
                given.withLock { $0.append(value) }
                return work(value)
            }
        let consumer = Task(executorPreference: executor) { await Streaming.read(stream) }
        await executor.waitUntilIdle()
        return consumer
    }

    private func send(_ value: Int) async {
        subject.send(value)
        await executor.waitUntilIdle()
    }

    private func passASecond() async {
        await executor.run(fixture.time, to: fixture.time.now + .seconds(1))
    }

    private var gave: [Int] { given.withLock { $0 } }

    @Test func aValueIsHandedOutWhenItIsOnTheDisk() async throws {
        let consumer = try await stream()
        await send(1)
        #expect(gave == [])
        try disk.flush()
        await executor.waitUntilIdle()
        #expect(gave == [1])
        subject.finish()
        await executor.run(fixture.time)
        #expect(await consumer.value.values == [1])
    }

    /// The next value's flush is under way, and holds up nothing that was stored before it.
    @Test func whatIsOnTheDiskIsHandedOutMeanwhile() async throws {
        let consumer = try await stream()
        for value in 1...2 {
            await send(value)
            try disk.flush()
        }
        await executor.waitUntilIdle()
        await send(3)
        #expect(gave == [1])
        await passASecond()
        #expect(gave == [1, 2])
        await passASecond()
        #expect(gave == [1, 2])
        try disk.flush()
        await executor.waitUntilIdle()
        #expect(gave == [1, 2, 3])
        subject.finish()
        await executor.run(fixture.time)
        #expect(await consumer.value.values == [1, 2, 3])
    }

    @Test func theEndWaitsForTheDisk() async throws {
        let consumer = try await stream()
        await send(1)
        consumer.cancel()
        await executor.waitUntilIdle()
        let ended = Tally()
        let waiting = Task(executorPreference: executor) {
            _ = await consumer.value
            ended.add()
        }
        await executor.waitUntilIdle()
        #expect(ended.count == 0)
        try disk.flush()
        await waiting.value
        #expect(gave == [])
        let status = try await PenstockStore(fixture.base).queue("q", of: Int.self).status()
        #expect(status.depths.ready == 1)
    }

    /// Nobody comes for a value just then.
    @Test func aFlushThatFailsFailsTheStream() async throws {
        let consumer = try await stream()
        await send(1)
        try disk.flush()
        await executor.waitUntilIdle()
        await send(2)
        try disk.flush(PenstockError(.outcomeUnknown, "The disk reported an error."))
        await executor.run(fixture.time)
        let (values, failure) = await consumer.value
        #expect(values == [1])
        #expect(gave == [1])
        #expect((failure as? PenstockError)?.code == .outcomeUnknown)
    }

    /// A disk that has failed takes nothing more, so a call that is refused then is not made again and again.
    @Test func theStreamEndsSoonWhenTheNextCallIsRefused() async throws {
        let consumer = try await stream()
        await send(0)
        try disk.flush()
        await executor.waitUntilIdle()
        // The consumer is at work, so the next value stays in the queue.
        await send(1)
        disk.refusal.withLock { $0 = PenstockError(.storage, "It may pass.") }
        await send(2)
        try disk.flush(PenstockError(.outcomeUnknown, "The disk reported an error."))
        let ended = Tally()
        let waiting = Task(executorPreference: executor) {
            let (_, failure) = await consumer.value
            if failure != nil { ended.add() }
        }
        await executor.run(fixture.time, to: fixture.time.now + .seconds(10))
        #expect(ended.count == 1, "Leases last for 30 seconds.")
        disk.refusal.withLock { $0 = nil }
        await executor.run(fixture.time)
        await waiting.value
    }
}
