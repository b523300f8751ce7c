import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct DurableBufferCancellationTests {
    /// Cancelled after so many calls of the store, wherever that is: nothing that arrived is lost, nothing is held, and
    /// the next stream goes on in order.
    @Test(arguments: World.Kind.allCases)
    func cancelledAtEveryPoint(kind: World.Kind) async throws {
        for callCount in 0...(kind == .memory ? 60 : 20) {
            let world = World(kind)
            let executor = IdleExecutor(isSerial: true)
            let storage = try await world.open()
            let watched = WatchedStore(storage, executor, ringsItself: true)
            let queue = try await world.store(watched).queue("q", of: Int.self)
            let before = watched.calls.count
            let source = AtOnce(1...12)
            let streaming = Streaming(time: world.time)
            let stream = source.buffer(size: 3, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: 2, streaming.work(.milliseconds(1_010)))
            let consumer = Task(executorPreference: executor) { await Streaming.read(stream).values }
            let canceller = Task {
                try? await watched.calls.wait(for: before + callCount)
                consumer.cancel()
            }
            let driver = Task { await executor.run(world.time) }
            let values = await consumer.value
            await driver.value
            canceller.cancel()
            await canceller.value

            let store = world.store(WatchedStore(storage, streaming.executor, ringsItself: true))
            let again = try await store.queue("q", of: Int.self)
            #expect(try await again.status().depths.leased == 0, "after \(callCount) calls")
            let stored = try await store.values()
            #expect(stored == Array(1..<stored.count + 1), "What arrives is stored in order, and without a gap.")
            let rest = await streaming(
                AtOnce(source.values.dropFirst(stored.count))
                    .buffer(size: 3, prefetch: .keepFull, whenFull: .wait, in: again)
                    .flatMap(maxConcurrent: 1, streaming.work(.seconds(1)))
            ).values
            #expect(Set(values).union(rest) == Set(1...12), "after \(callCount) calls: \(values), then \(rest)")
            #expect(rest == rest.sorted())
            try await storage.close()
        }
    }

    /// Ten thousand streams that begin and are cancelled at whatever moment that hits; on SQLite as many as
    /// PENSTOCK_PROOF_SCALE says. In the end no iterator of a source is left, no message is held, and none is there twice.
    @Test(arguments: World.Kind.allCases)
    func startAndCancelRace(kind: World.Kind) async throws {
        let scale = ProcessInfo.processInfo.environment["PENSTOCK_PROOF_SCALE"].flatMap(Int.init) ?? 1
        let folder = TemporaryFolder()
        let shared: PenstockStore? =
            switch kind {
            case .memory: nil
            case .sqlite: try await PenstockStore.open(path: folder.file("test.db"))
            case .elsewhere: PenstockStore(TestDatabase().open())
            }
        let random = SeededRandom(seed: 7)
        let (made, gone) = (Tally(), Tally())
        // In many stores, as one in memory takes the longer for each call the more messages it has.
        let (roundCount, readerCount) = kind == .memory ? (200, 50) : (4 * scale, 100)
        for round in 0..<roundCount {
            let store = shared ?? PenstockStore(InMemoryStore())
            let queue = try await store.queue("q\(round)", of: Int.self)
            let readers = (1...readerCount).map { index in
                let (taken, isDelayed) = (random.next(in: 0...4), random.chance(0.2))
                return Task {
                    let source = Counted(AtOnce([2 * index, 2 * index + 1]), made: made, gone: gone)
                    let stream =
                        isDelayed
                        ? source.delay(for: .microseconds(10), holding: 300, in: queue)
                        : source.buffer(size: 300, prefetch: .keepFull, whenFull: .wait, in: queue)
                    var iterator = stream.flatMap(maxConcurrent: 2, { value in Single { value } }).makeAsyncIterator()
                    for _ in 0..<taken where try await iterator.next(isolation: nil) == nil { return }
                }
            }
            for reader in readers {
                if random.chance(0.3) { await Task.yield() }
                reader.cancel()
            }
            for reader in readers { _ = await reader.result }
            // A reader that let its iterator go did not wait for the end of what it had begun.
            try await eventually { gone.count == made.count }
            try await eventually { try await queue.status().depths.leased == 0 }
            let stored = try await store.list(MessageQuery(queue: queue.name, limit: 1_000, withPayload: true))
            #expect(Set(stored.compactMap(\.payload)).count == stored.count)
            if shared == nil { try await store.close() }
        }
        try await shared?.close()
    }
}
