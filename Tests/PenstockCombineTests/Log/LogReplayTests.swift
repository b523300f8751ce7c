import PenstockCombine
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockPublishers

/// Replays whose memory is a log. Their tasks are the log's own, so these tests wait for values.
@Suite(.timeLimit(.minutes(5))) struct LogReplayTests {
    struct Broken: Error, CustomStringConvertible {
        var description: String { "broken" }
    }

    /// A subscriber that tells of each value, and of the end.
    private final class Listener: Sendable {
        let came = Tally()
        let ended = Tally()
        let probe: Probe<Int, any Error>

        init(demand: Int = .max) {
            let came = came
            probe = Probe(demand: demand) { _, _ in
                came.add()
                return 0
            }
        }

        func listen(to publisher: some Publisher<Int, any Error>) {
            let ended = ended
            publisher.handleEvents(receiveCompletion: { _ in ended.add() }).subscribe(probe)
        }

        /// The values, when there are so many.
        func values(_ count: Int) async throws -> [Int] {
            try await came.wait(for: count)
            return probe.values
        }

        /// The values and the end, when that has come.
        func end() async throws -> (values: [Int], failure: (any Error)?) {
            try await ended.wait(for: 1)
            try await eventually { probe.completionCount > 0 }
            return (probe.values, probe.failure)
        }
    }

    private func log(_ world: World) async throws -> (World.Process, Queue<Int>) {
        let process = try await world.open()
        return (process, try await process.store.queue("log", of: Int.self))
    }

    // MARK: The subject

    @Test(arguments: World.Kind.allCases)
    func aNewProcessReplaysWhatAnEarlierOneSent(kind: World.Kind) async throws {
        let world = World(kind)
        let (first, log) = try await log(world)
        let subject = ReplaySubject(bufferSize: 2, in: log)
        let early = Listener()
        early.listen(to: subject)
        for value in 1...3 { subject.send(value) }
        #expect(try await early.values(3) == [1, 2, 3])
        try await first.crash()

        let (second, same) = try await self.log(world)
        let reopened = ReplaySubject(bufferSize: 2, in: same)
        let late = Listener()
        late.listen(to: reopened)
        #expect(try await late.values(2) == [2, 3])
        reopened.send(4)
        reopened.send(completion: .failure(Broken()))
        reopened.send(5)
        let end = try await late.end()
        #expect(end.values == [2, 3, 4])
        #expect((end.failure as? RecordedFailure)?.message == "broken")
        // A listener that comes after the end gets the memory and that same end.
        let last = Listener()
        last.listen(to: ReplaySubject(bufferSize: 2, in: same))
        let same2 = try await last.end()
        #expect(same2.values == [3, 4])
        #expect((same2.failure as? RecordedFailure)?.message == "broken")
        try await second.crash()
    }

    @Test func demandIsHonouredExactly() async throws {
        let (_, log) = try await log(World(.memory))
        let subject = ReplaySubject(bufferSize: 0, in: log)
        let slow = Listener(demand: 2)
        let quick = Listener()
        slow.listen(to: subject)
        quick.listen(to: subject)
        for value in 1...1_000 { subject.send(value) }
        #expect(try await quick.values(1_000) == Array(1...1_000))
        #expect(try await slow.values(2) == [1, 2])
        slow.probe.request(3)
        #expect(try await slow.values(5) == [1, 2, 3, 4, 5])
        slow.probe.cancel()
        quick.probe.cancel()
    }

    @Test func aFastSenderWaitsAtTheBound() async throws {
        let (process, log) = try await log(World(.onDisk))
        let subject = ReplaySubject(bufferSize: 0, in: log)
        let listener = Listener()
        listener.listen(to: subject)
        let count = Limits.stagedCountMax * 4
        // From more tasks than there are threads: whoever waits must not hold up the writing.
        await withTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask { for value in 0..<count / 8 { subject.send(lane * count + value) } }
            }
        }
        subject.send(completion: .finished)
        let end = try await listener.end()
        #expect(end.values.count == count)
        #expect(Set(end.values).count == count)
        #expect(end.failure == nil)
        try await process.crash()
    }

    @Test func storageErrorsAreFailures() async throws {
        let (process, log) = try await log(World(.memory))
        let subject = ReplaySubject(bufferSize: 1, in: log)
        let listener = Listener()
        listener.listen(to: subject)
        subject.send(1)
        #expect(try await listener.values(1) == [1])
        try await process.crash()
        subject.send(2)
        #expect((try await listener.end().failure as? PenstockError)?.code == .closed)
        let late = Listener()
        late.listen(to: subject)
        #expect((try await late.end().failure as? PenstockError)?.code == .closed)
    }

    // MARK: The shared replay

    /// As it does in memory: upstream is subscribed before the subscriber's own call returns.
    @Test(arguments: World.Kind.allCases)
    func whatIsSentRightAfterTheFirstSubscriptionIsShared(kind: World.Kind) async throws {
        let (process, log) = try await log(World(kind))
        let subject = PassthroughSubject<Int, Never>()
        let shared = subject.shareReplay(1, in: log)
        let first = Listener()
        first.listen(to: shared)
        for value in 1...3 { subject.send(value) }
        #expect(try await first.values(3) == [1, 2, 3])
        // And again when the last one has left.
        first.probe.cancel()
        subject.send(4)
        let second = Listener()
        second.listen(to: shared)
        subject.send(5)
        subject.send(completion: .finished)
        #expect(try await second.end().values == [3, 5])
        try await process.crash()
    }

    @Test(arguments: World.Kind.allCases)
    func upstreamIsSubscribedOnceForAThousand(kind: World.Kind) async throws {
        let (process, log) = try await log(World(kind))
        let source = Source<Int, Never>()
        let shared = source.shareReplay(1, in: log)
        let listeners = (0..<1_000).map { _ in Listener() }
        for listener in listeners[..<500] { listener.listen(to: shared) }
        try await eventually { source.asked.count == 1 }
        source.send(1)
        source.send(2)
        for listener in listeners[..<500] { #expect(try await listener.values(2) == [1, 2]) }
        for listener in listeners[500...] { listener.listen(to: shared) }
        for listener in listeners[500...] { #expect(try await listener.values(1) == [2]) }
        source.send(3)
        source.send(completion: .finished)
        for listener in listeners[..<500] { #expect(try await listener.end().values == [1, 2, 3]) }
        for listener in listeners[500...] { #expect(try await listener.end().values == [2, 3]) }
        #expect(source.subscriptionCount == 1)
        let late = Listener()
        late.listen(to: shared)
        #expect(try await late.end().values == [3])
        try await process.crash()
    }

    @Test func theLastOneToLeaveTakesUpstreamWithIt() async throws {
        let (_, log) = try await log(World(.memory))
        let source = Source<Int, Never>()
        let shared = source.shareReplay(2, in: log)
        let first = Listener()
        let second = Listener()
        first.listen(to: shared)
        second.listen(to: shared)
        try await eventually { source.asked.count == 1 && shared.subscriberCount == 2 }
        source.send(1)
        _ = try await first.values(1)
        _ = try await second.values(1)
        first.probe.cancel()
        #expect(source.cancelCount == 0)
        second.probe.cancel()
        try await eventually { source.cancelCount == 1 }
        let third = Listener()
        third.listen(to: shared)
        try await eventually { source.asked.count > 2 || source.subscriptionCount == 2 }
        #expect(try await third.values(1) == [1])
        third.probe.cancel()
    }

    @Test func aFailureOfUpstreamIsEverybodys() async throws {
        let (_, log) = try await log(World(.memory))
        let source = Source<Int, Broken>()
        let shared = source.shareReplay(2, in: log)
        let listener = Listener()
        listener.listen(to: shared)
        try await eventually { source.asked.count == 1 }
        source.send(1)
        source.send(completion: .failure(Broken()))
        let end = try await listener.end()
        #expect(end.values == [1])
        #expect(end.failure is Broken)
    }

    @Test func aSequenceThatAnswersAtOnceIsSharedWhole() async throws {
        let (process, log) = try await log(World(.onDisk))
        let shared = (1...3_000).publisher.shareReplay(3, in: log)
        let listener = Listener()
        listener.listen(to: shared)
        let end = try await listener.end()
        #expect(end.values == Array(1...3_000))
        #expect(end.failure == nil)
        try await process.crash()
    }

    @Test func whatCannotBeWrittenIsAFailure() async throws {
        let (process, log) = try await log(World(.memory))
        let source = Source<Int, Never>()
        let listener = Listener()
        listener.listen(to: source.shareReplay(1, in: log))
        try await eventually { source.asked.count == 1 }
        try await process.crash()
        source.send(1)
        #expect((try await listener.end().failure as? PenstockError)?.code == .closed)
        try await eventually { source.cancelCount == 1 }
    }
}
