import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

/// The tables of the stream rules, where waiting values are messages of a queue.
@Suite(.timeLimit(.minutes(5))) struct DurableTraceTests {
    @Test(arguments: Trace.buffered, World.Kind.allCases)
    func theAgreedTraces(trace: Trace, kind: World.Kind) async throws {
        let run = try DurableRun(trace, kind)
        try await run.go()
        #expect(run.arrivals == trace.out)
    }

    /// The process dies at every moment at which something came out, was finished, or was sent.
    @Test(arguments: Trace.buffered, World.Kind.allCases)
    func stoppedAtEveryStep(trace: Trace, kind: World.Kind) async throws {
        var deaths = 0
        while true {
            let run = try DurableRun(trace, kind)
            guard try await run.go(untilStep: deaths) else { break }
            try await run.die()
            try await run.go()
            try run.check()
            deaths += 1
        }
        #expect(deaths > trace.out.count)
    }

    /// The process dies after each of its calls to the store. Only of a sequence: what a subject sent and the store never
    /// heard of is gone. The calls are the same in memory and on a disk; on that, where a death takes long, it dies after each of the
    /// first ones and every fifth of the others.
    @Test(arguments: Trace.buffered.filter { $0.name.hasPrefix("A") }, World.Kind.allCases)
    func stoppedAfterEachCall(trace: Trace, kind: World.Kind) async throws {
        var calls = 0
        while true {
            let run = try DurableRun(trace, kind)
            guard try await run.go(cutAfter: calls) else { break }
            try await run.die()
            try await run.go()
            try run.check()
            calls += kind != .memory && calls > 20 ? 5 : 1
        }
        #expect(calls > trace.out.count)
    }

    /// The process dies as a value comes out: that is never settled.
    @Test(arguments: Trace.buffered, World.Kind.allCases)
    func stoppedBeforeASettle(trace: Trace, kind: World.Kind) async throws {
        for count in 1...trace.out.count {
            let run = try DurableRun(trace, kind)
            try #require(try await run.go(untilBefore: count))
            try await run.die(thenPerforming: 1)
            try await run.go()
            try run.check()
        }
    }
}

/// A trace on a queue, in one process after another.
final class DurableRun {
    private let trace: Trace
    private let world: World
    private let taken = Guarded<[Trace.Arrival]>([])
    private var end = Guarded<Subscribers.Completion<any Error>?>(nil)
    /// How many values came out before the process died, and which of these were not settled by then.
    private var died: (count: Int, unsettled: [Int])?
    private var process: World.Process?
    private var running: AnyCancellable?
    private var subject: PassthroughSubject<Int, Never>?
    private var sends: ArraySlice<(at: Int, values: [Int])> = []

    init(_ trace: Trace, _ kind: World.Kind) throws {
        self.trace = trace
        world = World(kind)
        if case .subject(let sends) = trace.source { self.sends = sends[...] }
    }

    var arrivals: [Trace.Arrival] { taken.withLock { $0 } }

    /// Goes on to the end, or until so many steps are done. Returns whether it was the latter.
    @discardableResult
    func go(untilStep last: Int? = nil) async throws -> Bool {
        var step = 0
        return try await go { () in
            defer { step += 1 }
            return step == last
        }
    }

    /// Goes on to the end, or until the store heard of so many calls and was cut off. Returns whether it was the latter.
    func go(cutAfter count: Int) async throws -> Bool {
        try await go(cutAfter: count) { self.process?.watched.isCut == true }
    }

    /// Goes on until before the value comes out that makes it `count`.
    func go(untilBefore count: Int) async throws -> Bool {
        try await go { [trace, world] in
            world.scheduler.nextMoment?.milliseconds == trace.out[count - 1].milliseconds
                && self.arrivals.count == count - 1
        }
    }

    private func go(cutAfter count: Int? = nil, until isEnough: () -> Bool) async throws -> Bool {
        let process = try await begin(cutAfter: count)
        while true {
            await process.stillness.waitUntilIdle()
            if isEnough() { return true }
            if case .failure(let failure)? = end.withLock({ $0 }) { throw failure }
            if end.withLock({ $0 }) != nil { return false }
            if world.step(until: sends.first?.at ?? .max) { continue }
            guard let send = sends.popFirst() else { return false }
            world.move(to: send.at)
            await process.stillness.waitUntilIdle()
            for value in send.values { subject?.send(value) }
            if sends.isEmpty { subject?.send(completion: .finished) }
        }
    }

    /// The process dies. Nothing that it still does reaches the store.
    func die(thenPerforming count: Int = 0) async throws {
        try await process?.crash()
        for _ in 0..<count { _ = world.step() }
        running?.cancel()
        running = nil
        process = nil
        end = Guarded(nil)

        let witness = try await world.open()
        let settled = try await witness.store.list(MessageQuery(states: [.done], limit: 100)).count
        died = (arrivals.count, arrivals.dropFirst(settled).map(\.value))
        // What was worked on is worked on again, from the beginning: the world that sends goes by the stream's time.
        guard trace.flatMap.max == 1 else { return }
        let lost = world.scheduler.now.milliseconds - (settled > 0 ? trace.out[settled - 1].milliseconds : 0)
        sends = sends.map { ($0.at + lost, $0.values) }[...]
    }

    /// What came out of both processes is the trace's output, with only unsettled values again.
    func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let died = try #require(died)
        let values = arrivals.map(\.value)
        let again = values.dropFirst(died.count).prefix(died.unsettled.count)
        #expect(Array(again) == died.unsettled, "\(values), died after \(died.count)", sourceLocation: sourceLocation)
        #expect(
            values.prefix(died.count) + values.dropFirst(died.count + died.unsettled.count)
                == trace.out.map(\.value)[...],
            "\(values), died after \(died.count)", sourceLocation: sourceLocation)
    }

    private func begin(cutAfter callsMax: Int?) async throws -> World.Process {
        if let process { return process }
        let process = try await world.open(ringsItself: true)
        self.process = process
        let queue = try await process.store.queue("waiting", of: Int.self)
        switch trace.source {
        case .sequence(let values):
            // The log tells which ones have arrived.
            let count = try await process.store.list(MessageQuery(queue: queue.name, limit: 100)).count
            if let callsMax { process.watched.cut(after: callsMax) }
            running = process.run { work(values.dropFirst(count).publisher, queue) }
        case .subject:
            let subject = PassthroughSubject<Int, Never>()
            self.subject = subject
            running = process.run { work(subject, queue) }
            if sends.isEmpty { subject.send(completion: .finished) }
        }
        return process
    }

    private func work(
        _ source: some Publisher<Int, Never>, _ queue: Queue<Int>
    ) -> AnyCancellable? {
        guard let buffer = trace.buffer else { return nil }
        let (world, work, taken, end) = (world, trace.flatMap.work, taken, end)
        return source.buffer(
            size: buffer.size, prefetch: buffer.prefetch.strategy, whenFull: buffer.whenFull.strategy(), in: queue,
            lease: .seconds(3600)
        ).flatMap(maxPublishers: .max(trace.flatMap.max)) { value in
            Just(value).delay(for: .milliseconds(work(value)), scheduler: world.scheduler)
        }.sink(
            receiveCompletion: { completion in end.withLock { $0 = completion } },
            receiveValue: { value in
                taken.withLock { $0.append(.init(value: value, milliseconds: world.scheduler.now.milliseconds)) }
            })
    }
}
