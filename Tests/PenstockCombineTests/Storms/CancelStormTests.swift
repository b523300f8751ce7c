import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

/// Ten thousand starts and cancellations of each operator, at whatever moment they hit: nothing hangs, and nothing is
/// left.
@Suite(.serialized, .timeLimit(.minutes(5))) struct CancelStormTests {
    /// Begins a stream and cancels it, ten thousand times unless it is said otherwise, eight at once, while values are
    /// sent. Returns how many values came through.
    @discardableResult
    private func storm<Failure: Error>(
        _ process: World.Process? = nil, rounds: Int = 10_000, send: @escaping @Sendable (Int) -> Void = { _ in },
        _ make: @escaping @Sendable (Live.Token) -> AnyPublisher<Int, Failure>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> Int {
        let live = Live()
        let heard = Tally()
        await withTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask {
                    let random = SeededRandom(seed: UInt64(lane))
                    for round in 0..<rounds / 8 {
                        let demand = random.next(in: 0...3)
                        let probe = Probe<Int, Failure>(demand: demand) { _, _ in
                            heard.add()
                            return 0
                        }
                        async let subscribed: Void = {
                            let begin = { make(live.token()).subscribe(probe) }
                            if let process { process.run(begin) } else { begin() }
                        }()
                        if random.chance(0.5) { send(round) }
                        if random.chance(0.3) { await Task.yield() }
                        probe.cancel()
                        await subscribed
                        // Whoever cancelled before it had a subscription has one by now.
                        probe.cancel()
                    }
                }
            }
        }
        await process?.stillness.waitUntilIdle()
        // A task may still hold what it was about to let go; that something is left for good, the time limit tells.
        try? await eventually { live.count == 0 }
        #expect(live.count == 0, sourceLocation: sourceLocation)
        return heard.count
    }

    /// What is given back at the end is the store's own business, and takes a moment: that something is leased for good,
    /// the time limit tells.
    private func nothingIsLeased(in process: World.Process) async throws {
        try await eventually { try await process.count(.leased) == 0 }
    }

    /// The first of all: it takes longer than the others together, and would run alone in the end.
    @Test func durableBuffer() async throws {
        var heardCount = 0
        // In many stores, as one in memory takes the longer for each call the more messages it has kept.
        for _ in 1...125 {
            let process = try await World(.memory).open()
            let queue = try await process.store.queue("q", of: Int.self)
            let subject = Shared(PassthroughSubject<Int, Never>())
            heardCount += await storm(process, rounds: 80, send: { subject.value.send($0) }) { token in
                subject.value.map { value in withExtendedLifetime(token) { value } }
                    .buffer(size: 2, prefetch: .keepFull, whenFull: .dropOldest, in: queue)
                    .flatMap(maxPublishers: .max(1)) { Just($0) }.eraseToAnyPublisher()
            }
            try await nothingIsLeased(in: process)
        }
        #expect(heardCount > 0)
    }

    @Test func buffer() async {
        let subject = Shared(PassthroughSubject<Int, Never>())
        let heardCount = await storm(send: { subject.value.send($0) }) { token in
            subject.value.map { value in withExtendedLifetime(token) { value } }
                .buffer(size: 2, prefetch: .keepFull, whenFull: .dropOldest).eraseToAnyPublisher()
        }
        #expect(heardCount > 0)
    }

    @Test func delay() async {
        let subject = Shared(PassthroughSubject<Int, Never>())
        let scheduler = VirtualScheduler()
        let heardCount = await storm(send: { value in
            subject.value.send(value)
            scheduler.run()
        }) { token in
            subject.value.map { value in withExtendedLifetime(token) { value } }
                .delay(for: .milliseconds(1), scheduler: scheduler).eraseToAnyPublisher()
        }
        scheduler.run()
        #expect(heardCount > 0)
    }

    @Test func replaySubject() async {
        let subject = ReplaySubject<Int, Never>(bufferSize: 3, backlog: .dropOldest(at: 4))
        let heardCount = await storm(send: { subject.send($0) }) { token in
            subject.map { value in withExtendedLifetime(token) { value } }.eraseToAnyPublisher()
        }
        #expect(heardCount > 0)
        #expect(subject.subscriberCount == 0)
    }

    @Test func shareReplay() async {
        let subject = Shared(PassthroughSubject<Int, Never>())
        let shared = Shared(subject.value.shareReplay(3, backlog: .dropOldest(at: 4)))
        let heardCount = await storm(send: { subject.value.send($0) }) { token in
            shared.value.map { value in withExtendedLifetime(token) { value } }.eraseToAnyPublisher()
        }
        #expect(heardCount > 0)
        #expect(shared.value.subscriberCount == 0)
    }

    @Test func queuePublisherAndSettlingFlatMap() async throws {
        let process = try await World(.memory).open()
        let queue = try await process.store.queue("q", of: Int.self)
        _ = try await queue.enqueue(contentsOf: Array(1...5))
        await storm(process) { token in
            queue.publisher.flatMap(maxPublishers: .max(2)) { value in
                // Works that never end, some that do, and some that fail.
                value.isMultiple(of: 2)
                    ? Empty<Int, any Error>(completeImmediately: false).eraseToAnyPublisher()
                    : Fail(error: RetryAfter(.zero, reason: "\(withExtendedLifetime(token) { value })"))
                        .eraseToAnyPublisher()
            }.eraseToAnyPublisher()
        }
        try await nothingIsLeased(in: process)
    }

    @Test func replaySubjectInALog() async throws {
        let process = try await World(.memory).open()
        let log = try await process.store.queue("log", of: Int.self)
        let subject = ReplaySubject(bufferSize: 3, in: log)
        subject.send(0)
        let values = Tally()
        await storm(rounds: 10_000) { token in
            subject.map { value in
                values.add()
                return withExtendedLifetime(token) { value }
            }.eraseToAnyPublisher()
        }
        #expect(subject.subscriberCount == 0)
        // A subscriber that stays gets what is there.
        let probe = Probe<Int, any Error>(demand: 1) { _, _ in
            values.add()
            return 0
        }
        let before = values.count
        subject.subscribe(probe)
        try await values.wait(for: before + 1)
        #expect(probe.values == [0])
        probe.cancel()
    }

    @Test func shareReplayInALog() async throws {
        let process = try await World(.memory).open()
        let log = try await process.store.queue("log", of: Int.self)
        let subject = Shared(PassthroughSubject<Int, Never>())
        let shared = Shared(subject.value.shareReplay(3, in: log))
        await storm(rounds: 10_000) { token in
            shared.value.map { value in withExtendedLifetime(token) { value } }.eraseToAnyPublisher()
        }
        try await eventually { shared.value.subscriberCount == 0 }
    }
}
