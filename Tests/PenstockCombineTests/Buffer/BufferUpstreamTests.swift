import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

/// How a buffer treats its upstream, and what it lets go.
@Suite struct BufferUpstreamTests {
    /// Sends a value and ends before it gives a subscription, which no publisher may do, and sends another after it.
    private struct Hasty: Publisher {
        typealias Output = Int
        typealias Failure = Never

        func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == Int, Downstream.Failure == Never {
            _ = subscriber.receive(1)
            subscriber.receive(completion: .finished)
            subscriber.receive(subscription: Subscriptions.empty)
            _ = subscriber.receive(2)
        }
    }

    @Test func whatComesBeforeTheSubscriptionIsIgnored() {
        let probe = Probe<Int, Never>(demand: 5)
        Hasty().buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest).subscribe(probe)
        #expect(probe.values == [2])
        #expect(probe.completionCount == 0)
    }

    @Test func theEndWaitsForTheSubscription() {
        let subject = PassthroughSubject<Int, Never>()
        expectTheEndToWaitForTheSubscription(
            subject.buffer(size: 1, prefetch: .keepFull, whenFull: .dropNewest)
        ) { subject.send(completion: .finished) }
    }

    @Test func aThreadThatAsksIsTheOneThatCancels() {
        SlowUpstream.expectTheThreadThatAsksToCancel {
            $0.buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest)
        }
    }

    @Test func whatIsAskedForWhileAThreadAsksIsAskedForByIt() {
        SlowUpstream.expectTheThreadThatAsksToAskForMore {
            $0.buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest)
        }
    }

    @Test func anEndlessSourceThatAnswersAtOnceCanBeCancelled() {
        // On the thread that asks, from within a value.
        let mine = Probe<Int, Never>(demand: .max) { probe, value in
            if value == 3 { probe.cancel() }
            return 0
        }
        (1...).publisher.buffer(size: 1, prefetch: .byRequest, whenFull: .dropNewest).subscribe(mine)
        #expect(mine.values == [1, 2, 3])

        // By another thread.
        let other = Probe<Int, Never>(demand: .max) { probe, value in
            if value == 3 { onAnotherThread { probe.cancel() }() }
            return 0
        }
        (1...).publisher.buffer(size: 1, prefetch: .byRequest, whenFull: .dropNewest).subscribe(other)
        #expect(other.values == [1, 2, 3])
    }

    // MARK: What is let go

    /// A value whose end calls what it was in.
    private final class Clinging: Sendable {
        let call: @Sendable () -> Void

        init(_ call: @escaping @Sendable () -> Void) { self.call = call }

        deinit { call() }
    }

    @Test(arguments: [Publishers.BufferingStrategy<Never>.dropNewest, .dropOldest].indices)
    func aValueMayCallTheBufferAsItEnds(strategy: Int) {
        let subject = PassthroughSubject<Clinging, Never>()
        let probe = Probe<Clinging, Never>()
        let whenFull: Publishers.BufferingStrategy<Never> = strategy == 0 ? .dropNewest : .dropOldest
        subject.buffer(size: 2, prefetch: .byRequest, whenFull: whenFull).subscribe(probe)
        let ended = Tally()
        probe.request(0)
        for _ in 1...4 {
            subject.send(
                Clinging { [weak probe] in
                    probe?.request(0)
                    ended.add()
                })
        }
        #expect(ended.count == 2)
        probe.cancel()
        #expect(ended.count == 4)
    }
}
