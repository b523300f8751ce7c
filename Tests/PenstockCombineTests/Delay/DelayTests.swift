import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

@Suite struct DelayTests {
    struct Broken: Error, Equatable {}

    private let scheduler = VirtualScheduler()

    private func at(_ milliseconds: Int) { scheduler.run(to: VirtualMoment(milliseconds: milliseconds)) }

    @Test func valuesAndTheFinishComeLater() {
        let source = Source<Int, Never>()
        let probe = Probe<Int, Never>(demand: 5)
        source.delay(for: 1, scheduler: scheduler).subscribe(probe)
        // Neither the subscription nor the demand waits.
        #expect(source.asked == [5])
        source.send(1)
        at(500)
        source.send(2)
        source.send(completion: .finished)
        at(999)
        #expect(probe.values == [])
        at(1_000)
        #expect(probe.values == [1])
        at(1_499)
        #expect(probe.values == [1])
        #expect(!probe.isFinished)
        at(1_500)
        #expect(probe.values == [1, 2])
        #expect(probe.isFinished)
    }

    @Test func aFailureComesAtOnce() {
        let source = Source<Int, Broken>()
        let probe = Probe<Int, Broken>(demand: 5)
        source.delay(for: 1, scheduler: scheduler).subscribe(probe)
        source.send(1)
        source.send(completion: .failure(Broken()))
        #expect(probe.failure == Broken())
        scheduler.run()
        #expect(probe.values == [])
        #expect(probe.completionCount == 1)
    }

    @Test func nothingComesAfterACancellation() {
        let source = Source<Int, Never>()
        let probe = Probe<Int, Never>(demand: 5)
        source.delay(for: 1, scheduler: scheduler).subscribe(probe)
        source.send(1)
        source.send(completion: .finished)
        probe.cancel()
        scheduler.run()
        #expect(probe.values == [])
        #expect(probe.completionCount == 0)
    }

    @Test func whatIsDueTogetherComesInOneAction() {
        let source = Source<Int, Never>()
        let probe = Probe<Int, Never>(demand: 5)
        source.delay(for: 1, scheduler: scheduler).subscribe(probe)
        for value in 1...3 { source.send(value) }
        #expect(scheduler.actionCount == 1)
        at(500)
        source.send(4)
        #expect(scheduler.actionCount == 1)
        at(1_000)
        #expect(probe.values == [1, 2, 3])
        at(1_500)
        #expect(probe.values == [1, 2, 3, 4])
    }

    /// Performs each action at once, by a clock that stands still, as `ImmediateScheduler` does.
    private final class HastyScheduler: Scheduler {
        typealias SchedulerTimeType = VirtualMoment
        typealias SchedulerOptions = Never

        let calls = Tally()
        var now: VirtualMoment { VirtualMoment(milliseconds: 0) }
        var minimumTolerance: VirtualMoment.Stride { .milliseconds(0) }

        func schedule(options: Never?, _ action: @escaping () -> Void) {
            perform(action)
        }

        func schedule(
            after date: VirtualMoment, tolerance: VirtualMoment.Stride, options: Never?, _ action: @escaping () -> Void
        ) {
            perform(action)
        }

        func schedule(
            after date: VirtualMoment, interval: VirtualMoment.Stride, tolerance: VirtualMoment.Stride, options: Never?,
            _ action: @escaping () -> Void
        ) -> any Cancellable {
            perform(action)
            return AnyCancellable {}
        }

        /// Only so often: an operator that waits for the same moment again would end the program.
        private func perform(_ action: () -> Void) {
            if calls.add() <= 10 { action() }
        }
    }

    @Test func aMomentHasComeWhenTheSchedulerSaysSo() {
        let hasty = HastyScheduler()
        let source = Source<Int, Never>()
        let probe = Probe<Int, Never>(demand: 5)
        source.delay(for: 1, scheduler: hasty).subscribe(probe)
        source.send(1)
        #expect(probe.values == [1])
        source.send(2)
        source.send(completion: .finished)
        #expect(probe.values == [1, 2] && probe.isFinished)
        #expect(hasty.calls.count == 3)
    }

    @Test func whatComesBeforeTheSubscriptionIsIgnored() {
        let source = Source<Int, Broken>()
        let probe = Probe<Int, Broken>(demand: 5)
        Hasty(source: source).delay(for: 1, scheduler: scheduler).subscribe(probe)
        source.send(1)
        source.send(completion: .finished)
        scheduler.run()
        #expect(probe.values == [1])
        #expect(probe.isFinished)
        #expect(probe.completionCount == 1)
    }

    /// Gives a value and fails before it hands on a subscription.
    private struct Hasty: Publisher {
        typealias Output = Int
        typealias Failure = Broken

        let source: Source<Int, Broken>

        func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == Int, Downstream.Failure == Broken {
            _ = subscriber.receive(0)
            subscriber.receive(completion: .failure(Broken()))
            source.subscribe(subscriber)
        }
    }

    @Test func aThreadThatAsksIsTheOneThatCancels() {
        SlowUpstream.expectTheThreadThatAsksToCancel { $0.delay(for: 1, scheduler: scheduler) }
    }

    @Test func whatIsAskedForWhileAThreadAsksIsAskedForByIt() {
        SlowUpstream.expectTheThreadThatAsksToAskForMore { $0.delay(for: 1, scheduler: scheduler) }
    }

    @Test func aLongSourceThatAnswersAtOnceCanBeCancelledByAnotherThread() {
        let probe = Probe<Int, Never>(demand: .max)
        let given = Guarded(0)
        (1...1_000).publisher
            .handleEvents(receiveOutput: { value in
                given.withLock { $0 += 1 }
                if value == 3 { onAnotherThread { probe.cancel() }() }
            })
            .delay(for: 1, scheduler: scheduler).subscribe(probe)
        #expect(given.withLock { $0 } == 3)
    }

    @Test(arguments: [true, false])
    func aHeldValueMayCallTheOperatorAsItGoes(isFailure: Bool) {
        let source = Source<LastWord, Broken>()
        let probe = Probe<LastWord, Broken>(demand: 5)
        source.delay(for: 1, scheduler: scheduler).subscribe(probe)
        let gone = Tally()
        source.send(
            LastWord {
                probe.request(1)
                probe.cancel()
                gone.add()
            })
        if isFailure { source.send(completion: .failure(Broken())) } else { probe.cancel() }
        #expect(gone.count == 1)
        #expect(probe.completionCount == (isFailure ? 1 : 0))
    }

    /// Does something as it goes.
    private final class LastWord {
        let say: () -> Void
        init(_ say: @escaping () -> Void) { self.say = say }
        deinit { say() }
    }

    @Test func demandGoesUpAtOnceAlsoFromWithinReceive() {
        let probe = Probe<Int, Never>(demand: 1) { probe, value in
            if value == 2 { probe.request(1) }
            return value == 1 ? 1 : 0
        }
        (1...10).publisher.delay(for: 1, scheduler: scheduler).subscribe(probe)
        scheduler.run()
        #expect(probe.values == [1, 2, 3])
        #expect(scheduler.now == VirtualMoment(milliseconds: 3_000))
    }
}
