import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

@Suite struct ReplaySubjectTests {
    struct Broken: Error, Equatable {
        var name = "broken"
    }

    private func subject(
        _ count: Int = 2, _ backlog: ReplayBacklog<Broken> = .dropOldest(at: 3),
        onDrop: @escaping (Int) -> Void = { _ in }
    ) -> ReplaySubject<Int, Broken> {
        ReplaySubject(bufferSize: count, backlog: backlog, onDrop: onDrop)
    }

    @Test func aNewcomerGetsWhatIsRememberedThenWhatIsSentThenTheEnd() {
        let subject = subject()
        for value in 1...3 { subject.send(value) }
        let probe = Probe<Int, Broken>(demand: .max)
        subject.subscribe(probe)
        #expect(probe.values == [2, 3])
        subject.send(4)
        subject.send(completion: .finished)
        subject.send(5)
        #expect(probe.values == [2, 3, 4])
        #expect(probe.isFinished)
        #expect(subject.subscriberCount == 0)
    }

    @Test(arguments: [true, false])
    func aNewcomerAfterTheEndGetsWhatIsRememberedAndThatEnd(fails: Bool) {
        let subject = subject()
        for value in 1...3 { subject.send(value) }
        subject.send(completion: fails ? .failure(Broken()) : .finished)
        subject.send(completion: .failure(Broken(name: "too late")))
        let probe = Probe<Int, Broken>(demand: 1)
        subject.subscribe(probe)
        #expect(probe.values == [2])
        #expect(probe.completionCount == 0)
        probe.request(1)
        #expect(probe.values == [2, 3])
        #expect(probe.completionCount == 1)
        #expect(probe.failure == (fails ? Broken() : nil))
    }

    @Test func anEndWithoutValuesNeedsNoDemand() {
        let subject = subject()
        let early = Probe<Int, Broken>()
        subject.subscribe(early)
        subject.send(completion: .finished)
        let late = Probe<Int, Broken>()
        subject.subscribe(late)
        #expect(early.isFinished)
        #expect(late.isFinished)
    }

    @Test func demandIsKeptForEachSubscriber() {
        let subject = subject(0)
        let one = Probe<Int, Broken>(demand: 1)
        let all = Probe<Int, Broken>(demand: .max)
        subject.subscribe(one)
        subject.subscribe(all)
        for value in 1...3 { subject.send(value) }
        #expect(one.values == [1])
        #expect(all.values == [1, 2, 3])
        one.request(1)
        #expect(one.values == [1, 2])
    }

    // MARK: The bound

    @Test func theOldestIsDroppedForTheSlowOneAlone() {
        let dropped = Guarded<[Int]>([])
        let subject = subject(0, .dropOldest(at: 2)) { value in dropped.withLock { $0.append(value) } }
        let slow = Probe<Int, Broken>()
        let quick = Probe<Int, Broken>(demand: .max)
        subject.subscribe(slow)
        subject.subscribe(quick)
        for value in 1...4 { subject.send(value) }
        slow.request(5)
        #expect(slow.values == [3, 4])
        #expect(quick.values == [1, 2, 3, 4])
        #expect(dropped.withLock { $0 } == [1, 2])
    }

    @Test func theSlowOneIsEndedAlone() {
        let subject = subject(0, .endSubscriber(at: 2) { Broken(name: "behind") })
        let slow = Probe<Int, Broken>()
        let quick = Probe<Int, Broken>(demand: .max)
        subject.subscribe(slow)
        subject.subscribe(quick)
        for value in 1...4 { subject.send(value) }
        #expect(slow.completionCount == 0)
        slow.request(5)
        #expect(slow.values == [1, 2])
        #expect(slow.failure == Broken(name: "behind"))
        #expect(quick.values == [1, 2, 3, 4])
        #expect(subject.subscriberCount == 1)
    }

    @Test func aSenderWaitsUntilAllHaveRoom() async {
        let subject = ReplaySubject<Int, Broken>(bufferSize: 0, backlog: .suspendSender(at: 1))
        let slow = Probe<Int, Broken>()
        subject.subscribe(slow)
        let sent = Tally()
        async let sender: Void = Task.detached {
            for value in 1...3 {
                subject.send(value)
                sent.add()
            }
        }.value
        // The first finds room. Each further one is through when its forerunner was taken.
        for count in 1...3 {
            try? await sent.wait(for: count)
            #expect(sent.count == count)
            slow.request(1)
        }
        await sender
        #expect(slow.values == [1, 2, 3])
    }

    @Test func whoSendsWithinReceiveDoesNotWaitForItself() {
        let subject = ReplaySubject<Int, Broken>(bufferSize: 0, backlog: .suspendSender(at: 1))
        let probe = Probe<Int, Broken>(demand: 1) { _, value in
            if value == 1 { for more in 2...4 { subject.send(more) } }
            return 0
        }
        subject.subscribe(probe)
        subject.send(1)
        subject.send(completion: .finished)
        #expect(probe.values == [1])
        probe.request(3)
        #expect(probe.values == [1, 2, 3, 4])
        #expect(probe.isFinished)
    }

    @Test func whoLeavesMakesRoom() async {
        let subject = ReplaySubject<Int, Broken>(bufferSize: 1, backlog: .suspendSender(at: 1))
        let slow = Probe<Int, Broken>()
        subject.subscribe(slow)
        subject.send(1)
        let sender = Task.detached { subject.send(2) }
        slow.cancel()
        await sender.value
        #expect(slow.values == [])
        let next = Probe<Int, Broken>(demand: 1)
        subject.subscribe(next)
        #expect(next.values == [2])
    }

    // MARK: Re-entry

    @Test func askingSendingAndCancellingWithinReceive() {
        let subject = subject(1, .dropOldest(at: 100))
        let asks = Probe<Int, Broken>(demand: 1) { probe, value in
            probe.request(1)
            if value < 10 { subject.send(value + 1) }
            return 0
        }
        let leaves = Probe<Int, Broken>(demand: .max) { probe, value in
            if value == 5 { probe.cancel() }
            return 0
        }
        subject.subscribe(asks)
        subject.subscribe(leaves)
        subject.send(1)
        #expect(asks.values == Array(1...10))
        #expect(leaves.values == [1, 2, 3, 4, 5])
        #expect(asks.overlaps + leaves.overlaps == 0)
        #expect(subject.subscriberCount == 1)
    }

    @Test func subscribingAndEndingWithinReceive() {
        let subject = subject(2, .dropOldest(at: 100))
        let newcomer = Probe<Int, Broken>(demand: .max)
        let probe = Probe<Int, Broken>(demand: .max) { _, value in
            if value == 2 { subject.subscribe(newcomer) }
            if value == 3 { subject.send(completion: .finished) }
            return 0
        }
        subject.subscribe(probe)
        for value in 1...4 { subject.send(value) }
        #expect(newcomer.values == [1, 2, 3])
        #expect(newcomer.isFinished)
        #expect(probe.values == [1, 2, 3])
        #expect(probe.isFinished)
    }

    // MARK: Races

    @Test func manySendersSubscribersAndLeaversRace() async {
        let subject = ReplaySubject<Int, Broken>(bufferSize: 8, backlog: .suspendSender(at: 64))
        let steady = (0..<4).map { _ in Probe<Int, Broken>(demand: .max) }
        for probe in steady { subject.subscribe(probe) }
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<4 {
                group.addTask { for value in 0..<500 { subject.send(index * 500 + value) } }
                group.addTask {
                    for _ in 0..<500 {
                        let probe = Probe<Int, Broken>(demand: 2) { _, _ in 1 }
                        subject.subscribe(probe)
                        probe.cancel()
                    }
                }
            }
        }
        subject.send(completion: .finished)
        for probe in steady {
            #expect(probe.values == steady[0].values)
            #expect(probe.overlaps == 0)
            #expect(probe.isFinished)
        }
        #expect(Set(steady[0].values) == Set(0..<2_000))
        #expect(subject.subscriberCount == 0)
    }
}
