import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

@Suite struct ShareReplayTests {
    struct Broken: Error, Equatable {}

    @Test func upstreamIsSubscribedOnceForAThousand() {
        let source = Source<Int, Broken>()
        let shared = source.shareReplay(1)
        let probes = (0..<1_000).map { _ in Probe<Int, Broken>(demand: .max) }
        for probe in probes[..<500] { shared.subscribe(probe) }
        source.send(1)
        source.send(2)
        for probe in probes[500...] { shared.subscribe(probe) }
        source.send(3)
        #expect(source.subscriptionCount == 1)
        #expect(shared.subscriberCount == 1_000)
        #expect(probes[..<500].allSatisfy { $0.values == [1, 2, 3] })
        #expect(probes[500...].allSatisfy { $0.values == [2, 3] })
        for probe in probes.dropLast() { probe.cancel() }
        #expect(source.cancelCount == 0)
        probes.last?.cancel()
        #expect(source.cancelCount == 1)
        #expect(shared.subscriberCount == 0)
    }

    @Test func theLastOneFallingBehindCancelsUpstream() {
        let source = Source<Int, Broken>()
        let shared = source.shareReplay(0, backlog: .endSubscriber(at: 2) { Broken() })
        let (slow, other) = (Probe<Int, Broken>(), Probe<Int, Broken>(demand: .max))
        shared.subscribe(slow)
        shared.subscribe(other)
        for value in 1...3 { source.send(value) }
        slow.request(2)
        #expect(slow.values == [1, 2] && slow.failure == Broken())
        #expect(source.cancelCount == 0)
        other.cancel()
        #expect(source.cancelCount == 1)

        let alone = Probe<Int, Broken>()
        shared.subscribe(alone)
        for value in 4...6 { source.send(value) }
        alone.request(2)
        #expect(alone.values == [4, 5] && alone.failure == Broken())
        #expect(source.cancelCount == 2, "Nobody is left who could leave.")
        shared.subscribe(Probe<Int, Broken>(demand: 1))
        #expect(source.subscriptionCount == 3)
    }

    @Test func theMemoryStaysWhenTheLastOneLeaves() {
        let source = Source<Int, Broken>()
        let shared = source.shareReplay(2)
        let first = Probe<Int, Broken>(demand: .max)
        shared.subscribe(first)
        for value in 1...3 { source.send(value) }
        first.cancel()
        source.send(99)
        let second = Probe<Int, Broken>(demand: .max)
        shared.subscribe(second)
        source.send(4)
        #expect(source.subscriptionCount == 2)
        #expect(second.values == [2, 3, 4])
    }

    /// A thread may have been on its way with the end as the last subscriber left.
    @Test(arguments: [true, false]) func anUpstreamOfBeforeEndsNothing(isFailure: Bool) {
        let sources = [Source<Int, Broken>(), Source<Int, Broken>()]
        let made = Tally()
        let shared = Deferred { sources[made.add() - 1] }.shareReplay(0)
        let first = Probe<Int, Broken>(demand: .max)
        shared.subscribe(first)
        first.cancel()
        let second = Probe<Int, Broken>(demand: .max)
        shared.subscribe(second)
        #expect(sources.map(\.subscriptionCount) == [1, 1])
        sources[0].send(completion: isFailure ? .failure(Broken()) : .finished)
        #expect(second.completionCount == 0)
        sources[1].send(1)
        sources[1].send(completion: .finished)
        #expect(second.values == [1])
        #expect(second.isFinished && second.completionCount == 1)
    }

    @Test func whoComesAfterTheEndGetsTheMemoryAndThatEnd() {
        let source = Source<Int, Broken>()
        let shared = source.shareReplay(1)
        let first = Probe<Int, Broken>(demand: .max)
        shared.subscribe(first)
        source.send(1)
        source.send(completion: .failure(Broken()))
        #expect(first.failure == Broken())
        let late = Probe<Int, Broken>(demand: .max)
        shared.subscribe(late)
        #expect(late.values == [1])
        #expect(late.failure == Broken())
        #expect(source.subscriptionCount == 1)
    }

    @Test func theSlowestSetsThePaceOfUpstream() {
        let source = Source<Int, Broken>()
        let shared = source.shareReplay(0, backlog: .suspendSender(at: 2))
        let slow = Probe<Int, Broken>()
        let quick = Probe<Int, Broken>(demand: .max)
        shared.subscribe(slow)
        shared.subscribe(quick)
        #expect(source.asked == [2])
        source.send(1)
        source.send(2)
        #expect(source.asked == [2, 1, 1])
        // These were asked for, find no room, and stand in line.
        source.send(3)
        source.send(4)
        #expect(source.asked == [2, 1, 1])
        #expect(quick.values == [1, 2])
        slow.request(1)
        #expect(source.asked == [2, 1, 1, 1])
        #expect(quick.values == [1, 2, 3])
        source.send(completion: .finished)
        slow.request(10)
        #expect(slow.values == [1, 2, 3, 4])
        #expect(quick.values == [1, 2, 3, 4])
        #expect(slow.isFinished && quick.isFinished)
    }

    @Test func upstreamIsNotHeldUpWhereOthersLose() {
        let source = Source<Int, Broken>()
        let shared = source.shareReplay(0, backlog: .dropOldest(at: 2))
        let slow = Probe<Int, Broken>()
        shared.subscribe(slow)
        #expect(source.asked == [.max])
        for value in 1...5 { source.send(value) }
        slow.request(5)
        #expect(slow.values == [4, 5])
    }

    @Test func aSequenceThatAnswersAtOnceIsSharedWhole() {
        let shared = (1...1_000).publisher.shareReplay(3)
        let probe = Probe<Int, Never>(demand: .max)
        shared.subscribe(probe)
        #expect(probe.values == Array(1...1_000))
        let late = Probe<Int, Never>(demand: .max)
        shared.subscribe(late)
        #expect(late.values == [998, 999, 1_000])
        #expect(late.isFinished)
    }

    @Test func whoLeavesAsItIsGreetedLeavesNothingBehind() {
        final class Leaver: Subscriber {
            typealias Input = Int
            typealias Failure = Broken
            func receive(subscription: any Subscription) { subscription.cancel() }
            func receive(_ input: Int) -> Subscribers.Demand { .none }
            func receive(completion: Subscribers.Completion<Broken>) {}
        }
        let source = Source<Int, Broken>()
        let shared = source.shareReplay(1)
        shared.subscribe(Leaver())
        #expect(shared.subscriberCount == 0)
        #expect(source.cancelCount == source.subscriptionCount)
        let probe = Probe<Int, Broken>(demand: .max)
        shared.subscribe(probe)
        source.send(1)
        #expect(probe.values == [1])
    }
}
