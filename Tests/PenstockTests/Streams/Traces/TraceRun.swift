@testable import Penstock
import PenstockCore
import PenstockStreams
import PenstockTestKit
import Synchronization
import Testing

/// Runs a trace on durable operators and on a clock that only moves when the stream is still; from the beginning, or on
/// from where a process died.
final class TraceRun: Sendable {
    private let trace: Trace
    private let world: World
    private let executor: IdleExecutor
    private let began: Timestamp
    private let progress = Mutex(Progress())

    private struct Progress {
        /// The first batch of a subject that was not sent as a whole before everything was still.
        var batch = 0
        /// How much later than planned its batches are sent: the work that was lost.
        var delay = 0
    }

    init(_ trace: Trace, in world: World, isSerial: Bool) {
        self.trace = trace
        self.world = world
        executor = IdleExecutor(isSerial: isSerial)
        began = world.time.now
    }

    private var milliseconds: Int { Int((world.time.now - began).wholeMicroseconds / 1_000) }

    /// Lets a process run to the trace's end, or until it dies after so many calls of the store.
    ///
    /// - Returns: what came out, and whether it died.
    func callAsFunction(cutAfter: Int? = nil) async throws -> (out: [Trace.Arrival], died: Bool) {
        let storage = try await world.open()
        let watched = WatchedStore(storage, executor, cutAfter: cutAfter, ringsItself: true)
        // The queue is there before anything can fail.
        let queue = try await world.store(storage).queue("q", of: Int.self)
        let highest = try await storage.messages(
            MessageQuery(queue: queue.name, end: .last, limit: 1, withPayload: true)
        )
        .first.flatMap { Int(String(decoding: $0.payload ?? [], as: UTF8.self)) }
        let died = try await out(
            in: try await world.store(watched).queue(over: queue.name), after: highest ?? 0, watched)
        if died.died { try await world.crash(storage) } else { try await storage.close() }
        return died
    }

    /// What is leased at the moment: the values that are to be given again. Their lost work makes everything later.
    func countLostWork() async throws -> Set<Int> {
        let storage = try await world.open()
        let leased = try await storage.messages(MessageQuery(states: [.leased], withPayload: true))
        let lost = leased.compactMap { $0.claimedAt.map { world.time.now - $0 } }.max() ?? .zero
        progress.withLock { $0.delay += Int(lost.wholeMicroseconds / 1_000) }
        try await world.crash(storage)
        return Set(leased.compactMap { Int(String(decoding: $0.payload ?? [], as: UTF8.self)) })
    }

    private func out(
        in queue: Queue<Int>, after highest: Int, _ store: WatchedStore
    ) async throws -> (out: [Trace.Arrival], died: Bool) {
        switch trace.source {
        case .sequence(let values):
            return await read(AtOnce(values.filter { $0 > highest }), queue, store) { await pass(until: nil, store) }
        case .subject(let batches):
            let subject = AsyncPassthroughSubject<Int, Never>()
            return await read(subject, queue, store) {
                let first = progress.withLock { $0.batch }
                for (index, batch) in batches.enumerated().dropFirst(first) {
                    let due = batch.at + progress.withLock { $0.delay }
                    await pass(until: due, store)
                    for value in batch.values where value > highest { subject.send(value) }
                    await executor.waitUntilIdle()
                    if store.isCut { break }
                    progress.withLock { $0.batch = index + 1 }
                }
                subject.finish()
                await pass(until: nil, store)
            }
        }
    }

    private func pass(until milliseconds: Int?, _ store: WatchedStore) async {
        await executor.run(world.time, to: milliseconds.map { began + .milliseconds($0) }) { store.isCut }
    }

    private func read(
        _ source: some AsyncSequence<Int, Never> & Sendable, _ queue: Queue<Int>, _ store: WatchedStore,
        while passTime: () async -> Void
    ) async -> (out: [Trace.Arrival], died: Bool) {
        let work = trace.flatMap.work
        let time = world.time
        // One line each, and the same but for `in:`.
        guard let buffer = trace.buffer else {
            return await collect(
                source.flatMap(maxConcurrent: trace.flatMap.max) { value in
                    Single {
                        try await time.sleep(until: time.now + .milliseconds(work(value)))
                        return value
                    }
                }, store, while: passTime)
        }
        return await collect(
            source.buffer(size: buffer.size, prefetch: buffer.prefetch, whenFull: buffer.whenFull.durable, in: queue)
                .flatMap(maxConcurrent: trace.flatMap.max) { value in
                    Single {
                        try await time.sleep(until: time.now + .milliseconds(work(value)))
                        return value
                    }
                }, store, while: passTime)
    }

    private func collect(
        _ stream: some AsyncSequence<Int, any Error> & Sendable, _ store: WatchedStore, while passTime: () async -> Void
    ) async -> (out: [Trace.Arrival], died: Bool) {
        let consumer = Task(executorPreference: executor) {
            var out: [Trace.Arrival] = []
            do {
                for try await value in stream {
                    out.append(Trace.Arrival(value: value, milliseconds: self.milliseconds))
                }
                return (out, false)
            } catch {
                return (out, true)
            }
        }
        await passTime()
        // Whoever dies does not work on what it has.
        let isCut = store.isCut
        if isCut { consumer.cancel() }
        let (out, hasFailed) = await consumer.value
        return (out, hasFailed || isCut)
    }
}

extension PenstockStore {
    /// A queue that is there already, without a call of the store.
    func queue(over name: QueueName) async throws -> Queue<Int> {
        Queue(name, codec: QueueCodec(elements: JSONCodec<Int>()), handle: handle)
    }
}

extension Trace.Overflow {
    /// The same as a policy of the durable operators.
    fileprivate var durable: DurableOverflow {
        switch self {
        case .dropNewest: .dropNewest
        case .dropOldest: .dropOldest
        case .wait: .wait
        }
    }
}
