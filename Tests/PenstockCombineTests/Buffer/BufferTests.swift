import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

@Suite struct BufferTests {
    struct Full: Error, Equatable {}

    @Test func nothingIsAskedBeforeTheFirstDemand() {
        let source = Source<Int, Never>()
        let probe = Probe<Int, Never>()
        source.buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest).subscribe(probe)
        #expect(source.subscriptionCount == 1)
        #expect(source.asked.isEmpty)
        probe.request(1)
        #expect(source.asked == [.max])
    }

    @Test func keepFullAsksForTheDemandThePlacesAndOneMore() {
        let source = Source<Int, Never>()
        let probe = Probe<Int, Never>(demand: 1)
        source.buffer(size: 2, prefetch: .keepFull, whenFull: .dropNewest).subscribe(probe)
        #expect(source.asked == [4])
        for value in 1...4 { source.send(value) }
        // 4 overflowed, so nothing is asked until one is taken; then for one place and one that overflows.
        #expect(source.asked == [4])
        probe.request(1)
        #expect(source.asked == [4, 2])
        #expect(probe.values == [1, 2])
    }

    @Test func whoeverIsToldOfDropsIsToldOfEach() {
        let subject = PassthroughSubject<Int, Never>()
        let probe = Probe<Int, Never>(demand: 1)
        let dropped = Guarded<[Int]>([])
        subject.buffer(size: 1, prefetch: .byRequest, whenFull: .dropOldest) { value in
            dropped.withLock { $0.append(value) }
        }.subscribe(probe)
        for value in 1...4 { subject.send(value) }
        probe.request(5)
        #expect(probe.values == [1, 4])
        #expect(dropped.withLock { $0 } == [2, 3])
    }

    @Test func anErrorAtTheBoundEndsItAndUpstream() {
        let source = Source<Int, Full>()
        let probe = Probe<Int, Full>(demand: 1)
        source.buffer(size: 1, prefetch: .byRequest, whenFull: .customError { Full() }).subscribe(probe)
        for value in 1...4 { source.send(value) }
        #expect(probe.values == [1])
        #expect(probe.failure == Full())
        #expect(probe.completionCount == 1)
        #expect(source.cancelCount == 1)
    }

    @Test func whatWaitsComesBeforeTheFinishButNotBeforeAFailure() {
        let finishes = Source<Int, Full>()
        let patient = Probe<Int, Full>(demand: 1)
        finishes.buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest).subscribe(patient)
        for value in 1...3 { finishes.send(value) }
        finishes.send(completion: .finished)
        #expect(!patient.isFinished)
        patient.request(1)
        #expect(!patient.isFinished)
        patient.request(1)
        #expect(patient.values == [1, 2, 3])
        #expect(patient.isFinished)

        let fails = Source<Int, Full>()
        let disappointed = Probe<Int, Full>(demand: 1)
        fails.buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest).subscribe(disappointed)
        for value in 1...3 { fails.send(value) }
        fails.send(completion: .failure(Full()))
        #expect(disappointed.values == [1])
        #expect(disappointed.failure == Full())
    }

    // MARK: Re-entry

    @Test func askingWithinReceive() {
        let source = (1...10_000).publisher
        let probe = Probe<Int, Never>(demand: 1) { probe, value in
            probe.request(1)
            return value.isMultiple(of: 3) ? 1 : 0
        }
        source.buffer(size: 2, prefetch: .keepFull, whenFull: .dropNewest).subscribe(probe)
        #expect(probe.values == Array(1...10_000))
        #expect(probe.overlaps == 0)
        #expect(probe.isFinished)
    }

    @Test func anEagerSourceFindsASubscriberThatAsksWithinReceive() {
        let probe = Probe<Int, Never>(demand: 1) { _, _ in 1 }
        (1...100).publisher.buffer(size: 1, prefetch: .byRequest, whenFull: .dropNewest).subscribe(probe)
        #expect(probe.values == Array(1...100))
    }

    @Test func cancellingWithinReceive() {
        let source = Source<Int, Never>()
        let probe = Probe<Int, Never>(demand: 1) { probe, value in
            if value == 2 { probe.cancel() }
            return 0
        }
        source.buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest).subscribe(probe)
        for value in 1...4 { source.send(value) }
        probe.request(3)
        #expect(probe.values == [1, 2])
        #expect(source.cancelCount == 1)
        source.send(completion: .finished)
        #expect(probe.completionCount == 0)
    }

    @Test func sendingWithinReceive() {
        let subject = PassthroughSubject<Int, Never>()
        let probe = Probe<Int, Never>(demand: 1) { _, value in
            if value < 5 { subject.send(value + 1) }
            return 1
        }
        subject.buffer(size: 1, prefetch: .keepFull, whenFull: .dropNewest).subscribe(probe)
        subject.send(1)
        #expect(probe.values == [1, 2, 3, 4, 5])
        #expect(probe.overlaps == 0)
    }

    // MARK: Races

    @Test func manySendersAndAskersRace() async {
        let subject = PassthroughSubject<Int, Never>()
        let sent = 8 * 1_000
        let probe = Probe<Int, Never>(demand: 1)
        let dropped = Tally()
        subject.buffer(size: 16, prefetch: .byRequest, whenFull: .dropOldest) { _ in dropped.add() }.subscribe(probe)
        let sender = Shared(subject)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask { for value in 0..<1_000 { sender.value.send(index * 1_000 + value) } }
                group.addTask { for _ in 0..<500 { probe.request(1) } }
            }
        }
        subject.send(completion: .finished)
        probe.request(sent)
        #expect(probe.overlaps == 0)
        #expect(probe.isFinished)
        #expect(probe.values.count + dropped.count == sent)
        #expect(Set(probe.values).count == probe.values.count)
    }
}
