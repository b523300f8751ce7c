import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// What the store is told that its writing is to survive: what the program has said of the store, unless a call says otherwise.
@Suite(.timeLimit(.minutes(5))) struct DurabilityOfCallsTests {
    let the = Fixture()

    /// A store on `base` for that durability, and what notes its calls.
    private func open(
        _ durability: Durability, on base: (any MessageStore)? = nil
    ) -> (store: PenstockStore, calls: NotingStore) {
        let calls = NotingStore(base ?? the.base)
        return (PenstockStore(calls, options: .init(durability: durability, time: the.time)), calls)
    }

    private func other(than durability: Durability) -> Durability {
        durability == .powerLoss ? .processCrash : .powerLoss
    }

    @Test(arguments: Durability.allCases) func ofWhatABusAndASubjectSend(_ durability: Durability) async throws {
        let (store, calls) = open(durability)
        let bus = try await EventBus.open(in: store)
        bus << Placed(id: 1)
        await bus.flush()
        try await bus.send(Placed(id: 2))
        let subject = AsyncDurableReplaySubject(bufferSize: 1, in: try await store.queue("log", of: Int.self))
        try await subject.send(3)
        #expect(calls.durabilities(of: .append) == Array(repeating: durability, count: 3))
    }

    @Test(arguments: Durability.allCases) func ofTheValuesOfASharedReplay(_ durability: Durability) async throws {
        let (store, calls) = open(durability)
        let source = HandFedSource()
        let shared = source.shareReplay(1, in: try await store.queue("log", of: Int.self))
        let gathered = Gathered()
        let reading = gathered.all(of: shared)
        try await source.begun.wait(for: 1)
        source.give([1])
        try await gathered.count.wait(for: 1)
        source.finish()
        try await reading.value
        #expect(calls.durabilities(of: .append) == [durability])
    }

    @Test(arguments: Durability.allCases) func ofWhatADurableBufferStores(_ durability: Durability) async throws {
        let (store, calls) = open(durability)
        let queue = try await store.queue("q", of: Int.self)
        let streaming = Streaming(time: the.time)
        let (values, failure) = await streaming(
            AtOnce([1]).buffer(size: 4, prefetch: .keepFull, whenFull: .wait, in: queue)
                .flatMap(maxConcurrent: 1, streaming.work(.seconds(1))))
        #expect(failure == nil && values == [1])
        #expect(calls.durabilities(of: .enqueue) == [durability])
    }

    /// Somebody else has taken the only place, so that the stream offers its values one by one.
    @Test(arguments: Durability.allCases)
    func ofWhatADurableBufferOffersOneByOne(_ durability: Durability) async throws {
        struct TooSlow: Error {}
        let (store, calls) = open(durability, on: crowded(the.base))
        let queue = try await store.queue("q", of: Int.self)
        let streaming = Streaming(time: the.time)
        let (_, failure) = await streaming(
            AtOnce([1]).buffer(size: 1, prefetch: .keepFull, whenFull: .customError { TooSlow() }, in: queue)
                .flatMap(maxConcurrent: 1, streaming.work(.seconds(1))))
        #expect(failure is TooSlow)
        #expect(calls.durabilities(of: .enqueue) == [durability, durability])
    }

    @Test(arguments: Durability.allCases) func ofAStartAndOfAnEvent(_ durability: Durability) async throws {
        let (store, calls) = open(durability)
        let other = other(than: durability)
        let queue = try await store.queue("q", of: Int.self)
        var (first, second) = (Workflow("first"), Workflow("second"))
        try first.add("task", 1, to: queue)
        try second.add("task", 1, to: queue)
        try await store.start(first)
        try await store.start(second, durability: other)
        #expect(calls.durabilities(of: .start) == [durability, other])

        let sequence = try await queue.enqueue(1).sequence
        try await store.emit("paid", 100, to: .message(sequence))
        try await store.emit("approved", to: .message(sequence))
        try await store.emit("sent", to: .message(sequence), durability: other)
        #expect(calls.durabilities(of: .emit) == [durability, durability, other])
    }

    /// What a step gave is used outside at once, and so is a moment that a handler waits for.
    @Test(arguments: Durability.allCases) func ofStepsAndOfWaits(_ durability: Durability) async throws {
        let (store, calls) = open(durability)
        let queue = try await store.queue("q", of: Int.self)
        try await queue.enqueue(1)
        try await the.drain(queue) { delivery in
            try await delivery.step("charge") {}
            try await delivery.sleep("an hour", for: .seconds(3600))
        }
        #expect(calls.durabilities(of: .record) == [durability, durability])
    }
}
