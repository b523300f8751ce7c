import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

@Suite(.timeLimit(.minutes(5))) struct AsyncDurableReplaySubjectTests {
    private struct Broken: Error, CustomStringConvertible {
        var description: String { "the pipe is broken" }
    }

    let the = Fixture()

    private func subject(
        _ count: Int = 2, in store: PenstockStore? = nil
    ) async throws -> AsyncDurableReplaySubject<Int> {
        AsyncDurableReplaySubject(
            bufferSize: count, in: try await (store ?? the.store).queue("q", of: Int.self))
    }

    @Test func aNewcomerGetsTheLastOnesThenWhatIsSentThenTheEnd() async throws {
        let subject = try await subject()
        for number in 1...5 { try await subject.send(number) }
        var iterator = subject.makeAsyncIterator()
        try await subject.send(6)
        #expect(try await iterator.next() == 4)
        #expect(try await iterator.next() == 5)
        #expect(try await iterator.next() == 6)
        try await subject.send(7)
        #expect(try await iterator.next() == 7)
        try await subject.finish()
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
        var late = subject.makeAsyncIterator()
        #expect(try await late.next() == 6)
        #expect(try await late.next() == 7)
        #expect(try await late.next() == nil)
        #expect(subject.subscriberCount == 0)
    }

    /// Also those that are made before the first value.
    @Test func copiesOfAnIteratorShareTheSubscription() async throws {
        let subject = try await subject(10)
        for number in 1...6 { try await subject.send(number) }
        var first = subject.makeAsyncIterator()
        var early = first
        #expect(try await first.next() == 1)
        #expect(try await early.next() == 2)
        var late = first
        #expect(try await first.next() == 3)
        #expect(try await late.next() == 4)
        #expect(try await early.next() == 5)
        #expect(try await first.next() == 6)
    }

    @Test func whatIsSentIsCommitted() async throws {
        let subject = try await subject()
        let receipt = try await subject.send(1)
        #expect(receipt.state == .done)
        #expect(try await the.record(receipt).payload == Array("1".utf8))
        the.calls.fail(.append, with: PenstockError(.diskFull, "No room."))
        let error = await #expect(throws: PenstockError.self) { try await subject.send(2) }
        #expect(error?.code == .diskFull)
        try await subject.send(3)
        var iterator = subject.makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        #expect(try await iterator.next() == 3)
    }

    @Test func theEndIsOnRecordForEveryProcess() async throws {
        let subject = try await subject()
        let other = try await self.subject(in: the.otherProcess())
        try await subject.send(1)
        let waiting = Gathered()
        let task = waiting.all(of: other)
        try await waiting.count.wait(for: 1)
        try await subject.finish()
        try await task.value
        let error = await #expect(throws: PenstockError.self) { try await other.send(2) }
        #expect(error?.code == .illegalTransition)
        try await other.fail(Broken())
        try await the.crash()

        let third = try await self.subject(in: the.otherProcess())
        var iterator = third.makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        #expect(try await iterator.next() == nil, "The first end counts.")
    }

    @Test func aFailureIsOnRecordForEveryProcess() async throws {
        let subject = try await subject()
        try await subject.send(1)
        try await subject.fail(Broken())
        for one in [subject, try await self.subject(in: the.otherProcess())] {
            var iterator = one.makeAsyncIterator()
            #expect(try await iterator.next() == 1)
            let failure = await #expect(throws: RecordedFailure.self) { try await iterator.next() }
            #expect(failure?.message == "the pipe is broken")
            #expect(failure?.type == "Broken")
            #expect(try await iterator.next() == nil)
        }
    }

    @Test func theRecordOfALargeFailureIsBounded() {
        let failure = RecordedFailure(
            PenstockError(.storage, String(repeating: "\u{1}\"", count: 100_000) + "the end"))
        #expect(failure.message.hasSuffix("the end"))
        #expect(failure.note.utf8.count <= Limits.cursorNoteBytesMax)
        #expect(RecordedFailure(failure) == failure)
    }

    @Test func sendersOfTwoProcessesAreInOneOrder() async throws {
        let subjects = [try await subject(0), try await subject(0, in: the.otherProcess())]
        var gathered: [Gathered] = []
        var tasks: [Task<Void, any Error>] = []
        for subject in subjects {
            for _ in 1...20 {
                gathered.append(Gathered())
                tasks.append(gathered[gathered.count - 1].all(of: subject))
            }
        }
        try await eventually { subjects.allSatisfy { $0.subscriberCount == 20 } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, subject) in subjects.enumerated() {
                for sender in 0..<10 {
                    group.addTask {
                        for index in 0..<20 { try await subject.send(number * 1000 + sender * 100 + index) }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await subjects[1].finish()
        for task in tasks { try await task.value }
        #expect(Set(gathered.map(\.all)).count == 1)
        #expect(gathered[0].all.count == 400)
        for sender in Set(gathered[0].all.map { $0 / 100 }) {
            let own = gathered[0].all.filter { $0 / 100 == sender }
            #expect(own == own.sorted(), "Each sender's order is kept.")
        }
    }

    @Test func aSendThatIsCancelledInTimeIsNotSent() async throws {
        let subject = try await subject()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await subject.send(1)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await the.queue().status().totals.enqueued == 0)
    }

    @Test func deliveriesComeOnDemandOneAtATime() async throws {
        let subject = try await subject(9)
        for number in 1...5 { try await subject.send(number) }
        let gathered = Gathered()
        let ends = Tally()
        let delivery = subject.replay.subscribe {
            gathered.add($0)
        } complete: { _ in
            ends.add()
        }
        delivery.request(2)
        try await gathered.count.wait(for: 2)
        delivery.request(2)
        try await gathered.count.wait(for: 4)
        try await subject.finish()
        #expect(gathered.all == [1, 2, 3, 4])
        #expect(ends.count == 0)
        delivery.request(.max)
        try await ends.wait(for: 1)
        #expect(gathered.all == [1, 2, 3, 4, 5])
        await delivery.waitForEnd()
    }

    @Test func aDeliveryThatIsCancelledIsSilent() async throws {
        let subject = try await subject(9)
        try await subject.send(1)
        let gathered = Gathered()
        let delivery = subject.replay.subscribe {
            gathered.add($0)
        } complete: { _ in
            Issue.record("no end")
        }
        delivery.request(.max)
        try await gathered.count.wait(for: 1)
        delivery.cancel()
        await delivery.waitForEnd()
        try await subject.send(2)
        try await subject.finish()
        #expect(gathered.all == [1])
        #expect(subject.subscriberCount == 0)
    }

    @Test func closingTheStoreEndsSubscribersWithItsError() async throws {
        let subject = try await subject()
        try await subject.send(1)
        var iterator = subject.makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        try await the.store.close()
        the.base.changes.ring(nil)
        let error = await #expect(throws: PenstockError.self) { try await iterator.next() }
        #expect(error?.code == .closed)
    }
}
