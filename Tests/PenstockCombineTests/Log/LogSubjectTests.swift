import Foundation
import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

/// What a subject in a log owes its subscribers, beside what all replays in logs do.
@Suite(.timeLimit(.minutes(5))) struct LogSubjectTests {
    /// What cannot be stored ends the subject behind everything that was sent before it.
    @Test(arguments: World.Kind.allCases)
    func aSendThatFailsLosesNothingBeforeIt(kind: World.Kind) async throws {
        let process = try await World(kind).open()
        let subject = ReplaySubject(bufferSize: 1, in: try await process.store.queue("log", of: Double.self))
        let came = Tally()
        let busy = Probe<Double, any Error>(demand: 1) { _, _ in
            came.add()
            return 0
        }
        subject.subscribe(busy)
        subject.send(1)
        try await came.wait(for: 1)
        subject.send(2)
        // JSON has none of these.
        subject.send(.nan)
        subject.send(3)
        let late = Probe<Double, any Error>(demand: .max)
        subject.subscribe(late)
        try await eventually { late.completionCount > 0 }
        #expect(busy.completionCount == 0, "It has not asked for what was sent before.")
        busy.request(9)
        try await eventually { busy.completionCount > 0 }
        #expect(busy.values == [1, 2])
        #expect(busy.failure is EncodingError)
        #expect(busy.overlaps == 0)
        #expect(late.values == [2])
        #expect(late.failure is EncodingError)
        try await process.crash()
    }

    @Test func aSenderWaitsAtTheBoundOfBytes() async throws {
        let storage = InterleavedStore(InMemoryStore())
        let goOn = Tally()
        let store = PenstockStore(storage)
        let log = try await store.queue("log", of: String.self)
        let subject = LogSubject(bufferSize: 0, in: log, onMissed: { _ in })
        // What is sent counts until the store has answered.
        storage.afterNext(.append) { _ in try await goOn.wait(for: 1) }
        let large = String(repeating: "x", count: Limits.stagedBytesMax / 2)
        for _ in 1...2 { subject.send(large) }
        let sent = Tally()
        Thread.detachNewThread {
            subject.send("small")
            sent.add()
        }
        try await eventually { subject.room.waitingCount == 1 }
        goOn.add()
        try await sent.wait(for: 1)
        try await eventually { try await store.list(MessageQuery(queue: log.name)).count == 3 }
        try await store.close()
    }

    /// The subject and the log hold a subscription until it ends, as those of Combine do.
    @Test func aSubscriberNeedNotKeepItsSubscription() async throws {
        let process = try await World(.memory).open()
        let live = Live()
        let came = Tally()
        let ended = Tally()
        let subject = ReplaySubject(bufferSize: 1, in: try await process.store.queue("log", of: Int.self))
        func subscribe() {
            let token = live.token()
            subject.subscribe(
                AnySubscriber<Int, any Error>(
                    receiveSubscription: { $0.request(.unlimited) },
                    receiveValue: { _ in
                        came.add()
                        withExtendedLifetime(token) {}
                        return .none
                    },
                    receiveCompletion: { _ in ended.add() }))
        }
        subscribe()
        subject.send(1)
        try await came.wait(for: 1)
        subject.send(2)
        subject.send(completion: .finished)
        try await ended.wait(for: 1)
        #expect(came.count == 2)
        try await eventually { live.count == 0 }
        try await process.crash()
    }
}
