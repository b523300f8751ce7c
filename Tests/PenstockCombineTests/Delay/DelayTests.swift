import PenstockCombine
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
