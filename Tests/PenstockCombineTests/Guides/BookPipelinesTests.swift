import PenstockCombine
import PenstockTestKit
import Testing

/// Pipelines as a Combine book has them: only the import is another one, and `in:` where the values are to survive.
/// Nothing else is imported here, so that they compile as they would for their readers.
@Suite(.timeLimit(.minutes(5))) struct BookPipelinesTests {
    private let clock = VirtualScheduler()

    // MARK: Ten values at once, each worked on for a second

    @Test func aBufferOfASequence() {
        var received: [Int] = []
        let subscription = (1...10).publisher
            .buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest)
            .flatMap(maxPublishers: .max(1)) { Just($0).delay(for: .seconds(1), scheduler: clock) }
            .sink { received.append($0) }
        clock.run()
        #expect(received == [1, 2, 3, 4, 5])
        subscription.cancel()
    }

    @Test func theSameInAQueue() async throws {
        let world = World(.memory)
        let process = try await world.open()
        let queue = try await process.store.queue("values", of: Int.self)
        let clock = world.scheduler
        let received = Received()
        let subscription = process.run {
            (1...10).publisher
                .buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest, in: queue)
                .flatMap(maxPublishers: .max(1)) { Just($0).delay(for: .seconds(1), scheduler: clock) }
                .sink(receiveCompletion: { _ in }, receiveValue: { received.append($0) })
        }
        await world.pass(10_000, in: process)
        #expect(received.values == [1, 2, 3, 4, 5])
        subscription.cancel()
        await process.stillness.waitUntilIdle()
    }

    // MARK: A subject that sends more than can be worked on

    @Test func aBufferOfASubject() {
        var received: [Int] = []
        var subscriptions = Set<AnyCancellable>()
        let subject = PassthroughSubject<Int, Never>()
        subject
            .buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest)
            .flatMap(maxPublishers: .max(1)) { value in
                Just(value).delay(for: .seconds(2), scheduler: clock)
            }
            .sink(receiveValue: { received.append($0) })
            .store(in: &subscriptions)
        for value in 1...10 { subject.send(value) }
        clock.schedule(after: clock.now.advanced(by: .seconds(3))) { subject.send(11) }
        clock.run()
        #expect(received == [1, 2, 3, 4, 5, 11])
    }

    @Test func theSameSubjectInAQueue() async throws {
        let world = World(.memory)
        let process = try await world.open()
        let queue = try await process.store.queue("values", of: Int.self)
        let clock = world.scheduler
        let received = Received()
        var subscriptions = Set<AnyCancellable>()
        let subject = PassthroughSubject<Int, Never>()
        process.run {
            subject
                .buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest, in: queue)
                .flatMap(maxPublishers: .max(1)) { value in
                    Just(value).delay(for: .seconds(2), scheduler: clock)
                }
                .sink(receiveCompletion: { _ in }, receiveValue: { received.append($0) })
                .store(in: &subscriptions)
        }
        for value in 1...10 { subject.send(value) }
        clock.schedule(after: clock.now.advanced(by: .seconds(3))) { subject.send(11) }
        await world.pass(13_000, in: process)
        #expect(received.values == [1, 2, 3, 4, 5, 11])
        subscriptions = []
        await process.stillness.waitUntilIdle()
    }

    // MARK: A timer that is faster than its consumer

    @Test func aTimer() {
        var received: [Int] = []
        let subject = PassthroughSubject<Int, Never>()
        for value in 1...11 {
            clock.schedule(after: clock.now.advanced(by: .seconds(value))) { subject.send(value) }
        }
        let subscription =
            subject
            .buffer(size: 20, prefetch: .keepFull, whenFull: .dropOldest)
            .flatMap(maxPublishers: .max(3)) { Just($0).delay(for: .seconds(3.05), scheduler: clock) }
            .sink { received.append($0) }
        clock.run()
        #expect(received == Array(1...11))
        subscription.cancel()
    }

    // MARK: An error when it is too much

    @Test func aCustomError() async throws {
        enum Trouble: Error { case tooMuch }
        let subject = PassthroughSubject<Int, Trouble>()
        var completions: [String] = []
        let subscription =
            subject
            .buffer(size: 2, prefetch: .byRequest, whenFull: .customError { .tooMuch })
            .flatMap(maxPublishers: .max(1)) {
                Just($0).setFailureType(to: Trouble.self).delay(for: 1, scheduler: clock)
            }
            .sink(receiveCompletion: { completions.append("\($0)") }, receiveValue: { _ in })
        for value in 1...4 { subject.send(value) }
        #expect(completions.count == 1)
        #expect(completions[0].contains("tooMuch"))
        subscription.cancel()

        let process = try await World(.memory).open()
        let queue = try await process.store.queue("values", of: Int.self)
        let received = Received()
        let durable = process.run {
            subject
                .buffer(size: 2, prefetch: .byRequest, whenFull: .customError { Trouble.tooMuch }, in: queue)
                .flatMap(maxPublishers: .max(1)) { Just($0) }
                .sink(receiveCompletion: { _ in }, receiveValue: { received.append($0) })
        }
        subject.send(1)
        await process.stillness.waitUntilIdle()
        #expect(received.values == [1])
        durable.cancel()
        await process.stillness.waitUntilIdle()
    }

    // MARK: One subscription for many

    @Test func aSharedReplay() {
        var first: [Int] = []
        var second: [Int] = []
        let subject = PassthroughSubject<Int, Never>()
        let shared = subject.map { $0 * 2 }.shareReplay(1)
        let one = shared.sink { first.append($0) }
        subject.send(1)
        subject.send(2)
        let two = shared.sink { second.append($0) }
        subject.send(3)
        #expect(first == [2, 4, 6])
        #expect(second == [4, 6])
        one.cancel()
        two.cancel()
    }
}
