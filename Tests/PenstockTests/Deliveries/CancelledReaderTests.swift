import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Readers that are cancelled just as they are woken. Nobody else was woken for the message.
@Suite(.timeLimit(.minutes(5))) struct CancelledReaderTests {
    /// A task that waits for one message.
    enum Reader: CaseIterable, Sendable {
        case iterator
        case engine

        /// Takes one message of the queue, and settles it.
        func begin(_ queue: Queue<Int>) -> Task<Int, any Error> {
            switch self {
            case .iterator:
                Task {
                    var iterator = queue.deliveries(inFlightMax: 1).makeAsyncIterator()
                    let delivery = try #require(try await iterator.next())
                    try await delivery.done()
                    return delivery.payload
                }
            case .engine:
                Task {
                    let given = AsyncStream.makeStream(of: Delivery<Int>.self)
                    let engine = DeliveryEngine(queue: queue, inFlightMax: 1, lease: .seconds(30)) { delivery in
                        // One that is cancelled takes nothing more, and nobody settles what it is given.
                        if case .terminated = given.continuation.yield(delivery) { false } else { true }
                    }
                    engine.request(1)
                    async let failure = engine.run()
                    async let first = given.stream.first { _ in true }
                    guard let delivery = await first else {
                        throw try #require(await failure)
                    }
                    try await delivery.done()
                    engine.cancel()
                    _ = await failure
                    return delivery.payload
                }
            }
        }
    }

    @Test(arguments: Reader.allCases)
    func aReaderWhoseClaimIsCancelledWakesAnother(_ reader: Reader) async throws {
        let isCancelled = Atomic(false)
        let the = Fixture { base in
            WakingOneStore(base) {
                if isCancelled.exchange(false, ordering: .relaxed) { throw CancellationError() }
            }
        }
        let queue = try await the.queue()
        let first = reader.begin(queue)
        try await the.calls.changes.waitForWaiters(count: 1)
        let second = reader.begin(queue)
        try await the.calls.changes.waitForWaiters(count: 2)
        isCancelled.store(true, ordering: .relaxed)
        try await queue.enqueue(1)
        #expect(try await second.value == 1)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
    }

    @Test(arguments: Reader.allCases)
    func aMessageIsReadWhicheverReaderIsCancelledMeanwhile(_ reader: Reader) async throws {
        let the = Fixture { WakingOneStore($0) }
        let queue = try await the.queue()
        for number in 1...100 {
            let first = reader.begin(queue)
            try await the.calls.changes.waitForWaiters(count: 1)
            let second = reader.begin(queue)
            try await the.calls.changes.waitForWaiters(count: 2)
            try await queue.enqueue(number)
            first.cancel()
            let taken = await first.result
            if case .success(let payload) = taken {
                #expect(payload == number)
                second.cancel()
                await #expect(throws: CancellationError.self) { try await second.value }
            } else {
                #expect(try await second.value == number)
            }
        }
        #expect(try await queue.status().totals.done == 100)
    }
}
