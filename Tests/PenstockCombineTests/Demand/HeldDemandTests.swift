import Dispatch
import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

/// A subscriber is told one thing at a time, also when the values come from another thread.
@Suite(.timeLimit(.minutes(5))) struct HeldDemandTests {
    /// Asks for a value while it is given its subscription, and takes its time over that.
    private final class SlowStarter<Input, Failure: Error>: Subscriber {
        private let state = Guarded((isStarting: false, hasOverlapped: false))
        private let given = DispatchSemaphore(value: 0)
        let came = Tally()

        var hasOverlapped: Bool { state.withLock { $0.hasOverlapped } }

        func receive(subscription: any Subscription) {
            state.withLock { $0.isStarting = true }
            subscription.request(.max(1))
            // Nothing comes: there is no signal to wait for.
            _ = given.wait(timeout: .now() + .milliseconds(200))
            state.withLock { $0.isStarting = false }
        }

        func receive(_ input: Input) -> Subscribers.Demand {
            state.withLock { $0.hasOverlapped = $0.hasOverlapped || $0.isStarting }
            given.signal()
            came.add()
            return .none
        }

        func receive(completion: Subscribers.Completion<Failure>) {}
    }

    private func expectInTurn<Source: Publisher>(_ source: Source) async throws {
        let subscriber = SlowStarter<Source.Output, Source.Failure>()
        source.subscribe(subscriber)
        try await subscriber.came.wait(for: 1)
        #expect(!subscriber.hasOverlapped)
    }

    @Test func ofAQueue() async throws {
        let process = try await World(.memory).open()
        let queue = try await process.store.queue("q", of: Int.self)
        try await queue.enqueue(1)
        try await expectInTurn(queue.publisher)
        try await process.crash()
    }

    @Test func ofALog() async throws {
        let process = try await World(.memory).open()
        let subject = ReplaySubject(bufferSize: 1, in: try await process.store.queue("log", of: Int.self))
        subject.send(1)
        try await expectInTurn(subject)
        try await process.crash()
    }

    @Test func ofADurableBuffer() async throws {
        let process = try await World(.memory).open()
        let queue = try await process.store.queue("q", of: Int.self)
        try await expectInTurn([1, 2].publisher.buffer(size: 10, in: queue))
        try await process.crash()
    }
}
