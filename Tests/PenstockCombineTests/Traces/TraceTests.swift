import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

/// The tables of the stream rules, on virtual time.
@Suite struct TraceTests {
    @Test(arguments: Trace.agreed)
    func theAgreedTracesInMemory(trace: Trace) {
        #expect(run(trace) == trace.out)
    }

    /// The rules, not the tables: pipelines made up at random give what the rules, followed one by one, say.
    @Test(arguments: 0..<300)
    func tracesMadeUpAtRandom(seed: UInt64) {
        let trace = Trace.madeUp(SeededRandom(seed: seed))
        #expect(run(trace) == trace.out, "\(trace)")
    }

    /// The reason for a buffer of our own. When this fails, the port has become exact.
    @Test func thePortsOwnBufferGivesOtherValues() {
        let scheduler = VirtualScheduler()
        let arrivals = Guarded<[Int]>([])
        let inexact = Publishers.Buffer(
            upstream: (1...10).publisher, size: 4, prefetch: .byRequest, whenFull: .dropNewest)
        let running = inexact.flatMap(maxPublishers: .max(1)) { Just($0).delay(for: 1, scheduler: scheduler) }
            .sink { value in arrivals.withLock { $0.append(value) } }
        withExtendedLifetime(running) { scheduler.run() }
        #if !canImport(Combine)
            #expect(arrivals.withLock { $0 } != [1, 2, 3, 4, 5])
        #endif
    }

    private func run(_ trace: Trace) -> [Trace.Arrival] {
        let scheduler = VirtualScheduler()
        switch trace.source {
        case .sequence(let values):
            return read(values.publisher, trace, scheduler) {}
        case .subject(let sends):
            let subject = PassthroughSubject<Int, Never>()
            return read(subject, trace, scheduler) {
                for (milliseconds, values) in sends {
                    scheduler.run(to: VirtualMoment(milliseconds: milliseconds))
                    for value in values { subject.send(value) }
                }
                subject.send(completion: .finished)
            }
        }
    }

    private func read(
        _ source: some Publisher<Int, Never> & SendableMetatype, _ trace: Trace, _ scheduler: VirtualScheduler,
        while passTime: () -> Void
    ) -> [Trace.Arrival] {
        guard let buffer = trace.buffer else { return work(source, trace, scheduler, while: passTime) }
        let buffered = source.buffer(
            size: buffer.size, prefetch: buffer.prefetch.strategy, whenFull: buffer.whenFull.strategy())
        return work(buffered, trace, scheduler, while: passTime)
    }

    private func work(
        _ source: some Publisher<Int, Never>, _ trace: Trace, _ scheduler: VirtualScheduler,
        while passTime: () -> Void
    ) -> [Trace.Arrival] {
        let arrivals = Guarded<[Trace.Arrival]>([])
        let isFinished = Flag()
        let running = source.flatMap(maxPublishers: .max(trace.flatMap.max)) { value in
            Just(value).delay(for: .milliseconds(trace.flatMap.work(value)), scheduler: scheduler)
        }.sink(
            receiveCompletion: { _ in isFinished.raise() },
            receiveValue: { value in
                arrivals.withLock { $0.append(.init(value: value, milliseconds: scheduler.now.milliseconds)) }
            })
        passTime()
        scheduler.run()
        withExtendedLifetime(running) {}
        #expect(isFinished.isRaised, "\(trace)")
        return arrivals.withLock { $0 }
    }
}
