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
            let world = try World(kind)
            let executor = IdleExecutor(isSerial: true)
            let storage = try await world.open()
            let watched = WatchedStore(storage, executor)
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

            let store = world.store(storage)
            let status = try await store.queue("q", of: Int.self).status()
            #expect(status.depths.leased == 0, "after \(callCount) calls")
            let stored = try await store.values()
            #expect(stored == Array(1..<stored.count + 1), "What arrives is stored in order, and without a gap.")
            let rest = await streaming(
                AtOnce(source.values.dropFirst(stored.count))
                    .buffer(size: 3, prefetch: .keepFull, whenFull: .wait, in: try await store.queue("q", of: Int.self))
                    .flatMap(maxConcurrent: 1, streaming.work(.seconds(1)))
            ).values
            #expect(Set(values).union(rest) == Set(1...12), "after \(callCount) calls: \(values), then \(rest)")
            #expect(rest == rest.sorted())
            try await storage.close()
        }
    }

    /// Ten thousand streams that begin and are cancelled at whatever moment that hits; more or fewer by
    /// PENSTOCK_PROOF_SCALE. In the end nothing is lost and nothing is held.
    @Test(arguments: World.Kind.allCases)
    func startAndCancelRace(kind: World.Kind) async throws {
        let scale = ProcessInfo.processInfo.environment["PENSTOCK_PROOF_SCALE"].flatMap(Double.init) ?? 1
        let rounds = Int((kind == .memory ? 100 : 5) * scale)
        let folder = try FileTests.Folder()
        let store =
            kind == .memory ? PenstockStore(InMemoryStore()) : try await PenstockStore.open(path: folder.path)
        let queue = try await store.queue("q", of: Int.self)
        let random = SeededRandom(seed: 7)
        for round in 1...max(rounds, 1) {
            let readers = (1...100).map { index in
                let taken = random.next(in: 0...4)
                let (isSettled, isDelayed) = (random.chance(0.5), random.chance(0.2))
                return Task {
                    let source = AtOnce([round * 1_000 + index * 3, round * 1_000 + index * 3 + 1])
                    let stream =
                        isDelayed
                        ? source.delay(for: .microseconds(10), holding: 1_000_000, in: queue)
                        : source.buffer(size: 1_000_000, prefetch: .keepFull, whenFull: .wait, in: queue)
                    if isSettled {
                        var iterator = stream.flatMap(maxConcurrent: 2, { value in Single { value } })
                            .makeAsyncIterator()
                        for _ in 0..<taken where try await iterator.next(isolation: nil) == nil { return }
                    } else {
                        var iterator = stream.makeAsyncIterator()
                        for _ in 0..<taken {
                            guard let delivery = try await iterator.next(isolation: nil) else { return }
                            try? await delivery.done()
                        }
                    }
                }
            }
            for reader in readers {
                if random.chance(0.3) { await Task.yield() }
                reader.cancel()
            }
            for reader in readers { _ = await reader.result }
        }
        // Who let its iterator go did not wait for the end of what it began; nor does a delivery whose `done` was
        // cancelled come back before the next stream asks for it.
        try await eventually { try await queue.status().depths.leased <= 400 * rounds }
        let stored = try await store.values()
        #expect(stored.count == Set(stored).count, "Nothing is stored twice.")
        try await store.close()
    }
}
