import PenstockStreams
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct AsyncReplaySubjectTests {
    typealias Subject = AsyncReplaySubject<Int, Broken>

    let executor = IdleExecutor(isSerial: false)

    @Test func newcomersGetWhatIsRememberedFirst() async throws {
        let subject = Subject(bufferSize: 2)
        for value in 1...3 { try await subject.send(value) }
        var iterator = subject.makeAsyncIterator()
        try await subject.send(4)
        subject.finish()
        for value in 2...4 { #expect(try await iterator.next() == value) }
        #expect(try await iterator.next() == nil)
        #expect(await collect(subject).value == ([3, 4], nil))
    }

    @Test func aFailureComesAfterWhatWasSent() async {
        let subject = Subject(bufferSize: 1)
        subject.offer(1)
        subject.fail(Broken())
        #expect(!subject.offer(2))
        #expect(await collect(subject).value == ([1], Broken()))
        #expect(await collect(subject).value == ([1], Broken()))
    }

    @Test func theSenderWaitsForRoom() async throws {
        let subject = Subject(bufferSize: 0, backlog: .suspendSender(at: 2))
        var iterator = subject.makeAsyncIterator()
        let sending = Task(executorPreference: executor) {
            for value in 1...5 { try await subject.send(value) }
            subject.finish()
        }
        await executor.waitUntilIdle()
        #expect(!subject.offer(9))
        for value in 1...5 { #expect(try await iterator.next() == value) }
        #expect(try await iterator.next() == nil)
        try await sending.value
    }

    @Test func aSenderThatIsCancelledHasNotSent() async throws {
        let subject = Subject(bufferSize: 0, backlog: .suspendSender(at: 1))
        var iterator = subject.makeAsyncIterator()
        subject.offer(1)
        let sending = Task(executorPreference: executor) { try await subject.send(2) }
        await executor.waitUntilIdle()
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(try await iterator.next() == 1)
        #expect(subject.offer(3))
        #expect(try await iterator.next() == 3)
    }

    /// Though there is room.
    @Test func aTaskThatIsCancelledSendsNothing() async throws {
        let subject = Subject(bufferSize: 2)
        let sending = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await subject.send(1)
        }
        await #expect(throws: CancellationError.self) { try await sending.value }
        try await subject.send(2)
        var iterator = subject.makeAsyncIterator()
        #expect(try await iterator.next() == 2)
    }

    @Test func theOldestIsDroppedAndCounted() async throws {
        let dropped = Mutex<[Int]>([])
        let subject = Subject(bufferSize: 0, backlog: .dropOldest(at: 2)) { value in
            dropped.withLock { $0.append(value) }
        }
        var iterator = subject.makeAsyncIterator()
        for value in 1...5 { #expect(subject.offer(value)) }
        #expect(dropped.withLock { $0 } == [1, 2, 3])
        for value in 4...5 { #expect(try await iterator.next() == value) }
    }

    @Test func aSubscriberThatFallsBehindIsEndedAndNobodyElse() async throws {
        let subject = Subject(bufferSize: 0, backlog: .endSubscriber(at: 2) { Broken(name: "behind") })
        var slow = subject.makeAsyncIterator()
        var quick = subject.makeAsyncIterator()
        for value in 1...4 {
            #expect(subject.offer(value))
            #expect(try await quick.next() == value)
        }
        for value in 1...2 { #expect(try await slow.next() == value) }
        await #expect(throws: Broken(name: "behind")) { try await slow.next() }
        #expect(try await slow.next() == nil)
        #expect(subject.subscriberCount == 1)
    }

    @Test func manyReadersAndSendersAndEveryoneGetsEachOnceAndInOneOrder() async throws {
        let subject = Subject(bufferSize: 3, backlog: .suspendSender(at: 4))
        let readers = (0..<8).map { _ in subject.makeAsyncIterator() }
        let sending = Task {
            await withDiscardingTaskGroup { group in
                for sender in 0..<4 {
                    group.addTask { for number in 0..<50 { try? await subject.send(sender * 100 + number) } }
                }
            }
            subject.finish()
        }
        // Iterators cannot be sent, so one task takes from each in turn.
        var seen = [[Int]](repeating: [], count: readers.count)
        for _ in 0..<200 {
            for index in readers.indices {
                var iterator = readers[index]
                if let value = try await iterator.next() { seen[index].append(value) }
            }
        }
        await sending.value
        for order in seen {
            #expect(order == seen[0])
            #expect(Set(order).count == 200)
        }
        for sender in 0..<4 {
            #expect(seen[0].filter { $0 / 100 == sender } == (0..<50).map { sender * 100 + $0 })
        }
    }

    @Test func aSubjectThatIsLetGoFinishes() async throws {
        func subscription() -> Subject.AsyncIterator {
            let subject = Subject(bufferSize: 1)
            subject.offer(1)
            return subject.makeAsyncIterator()
        }
        var iterator = subscription()
        #expect(try await iterator.next() == 1)
        #expect(try await iterator.next() == nil)
    }

    @Test func valuesAreLetGoWithTheSubject() async throws {
        let made = Tally()
        let gone = Tally()
        func send() {
            let subject = AsyncReplaySubject<Witness, Never>(bufferSize: 2, backlog: .dropOldest(at: 4))
            let iterator = subject.makeAsyncIterator()
            for _ in 1...10 { subject.offer(Witness(made: made, gone: gone)) }
            #expect(gone.count == 6)
            _ = iterator
        }
        send()
        #expect(gone.count == made.count)
    }

    @Test func anElementThatIsLetGoMayCallTheSubject() async throws {
        /// An element whose end uses the subject that had it.
        final class Caller: Sendable {
            let call: @Sendable () -> Void
            init(_ call: @escaping @Sendable () -> Void) { self.call = call }
            deinit { call() }
        }
        let subject = AsyncReplaySubject<Caller, Never>(bufferSize: 1, backlog: .dropOldest(at: 2))
        let gone = Tally()
        func readOne() async {
            var iterator = subject.makeAsyncIterator()
            for _ in 1...5 {
                subject.offer(
                    Caller { [weak subject] in
                        _ = subject?.subscriberCount
                        gone.add()
                    })
            }
            #expect(gone.count == 3)
            _ = await iterator.next()
            #expect(gone.count == 4)
        }
        await readOne()
        #expect(subject.subscriberCount == 0)
        #expect(gone.count == 4)
        subject.offer(Caller {})
        #expect(gone.count == 5)
    }

    @Test(arguments: [ReplayBacklog<Never>.suspendSender(at: 2), .dropOldest(at: 2)])
    func tenThousandRacesOfSubscribingSendingAndCancelling(backlog: ReplayBacklog<Never>) async throws {
        let subject = AsyncReplaySubject<Int, Never>(bufferSize: 2, backlog: backlog)
        let senders = (1...2).map { _ in
            Task {
                var number = 0
                while !Task.isCancelled {
                    number += 1
                    try? await subject.send(number)
                    await Task.yield()
                }
            }
        }
        try await raceCancellations(subject, made: Tally(), gone: Tally()) { $0 }
        for sender in senders { sender.cancel() }
        for sender in senders { await sender.value }
        #expect(subject.subscriberCount == 0)
    }
}
