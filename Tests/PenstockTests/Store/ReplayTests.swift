import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct ReplayTests {
    let the = Fixture()

    private func records(_ queue: Queue<Int>) async throws -> [MessageRecord] {
        try await the.store.list(MessageQuery(queue: queue.name, withPayload: true)).filter { $0.origin != nil }
    }

    @Test func aReplayNamesItsOriginAndKeepsWhatWasSaid() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(
            1,
            options: .init(
                headers: ["a": "b"], priority: 4, due: .after(.seconds(60)), attemptsMax: 2, uniqueKey: UniqueKey("k")))
        #expect(try await the.store.replay(MessageQuery(queue: queue.name)) == 1)
        let replayed = try #require(try await records(queue).first)
        #expect(replayed.origin == receipt.sequence)
        #expect(replayed.payload == Array("1".utf8))
        #expect(replayed.headers == ["a": "b"])
        #expect(replayed.priority == 4)
        #expect(replayed.attemptsMax == 2)
        #expect(replayed.state == .ready)
        #expect(replayed.uniqueKey == nil)
    }

    /// What is replayed lies far apart, so that most of what is looked at does not match.
    @Test(arguments: [MessageQuery.End.first, .last])
    func aReplayGoesOnWhereOneAnswerHasLookedEnough(_ end: MessageQuery.End) async throws {
        let queue = try await the.queue()
        for number in 1...20 {
            try await queue.enqueue(number, options: .init(headers: number % 9 == 0 ? ["ninth": "yes"] : [:]))
        }
        let query = MessageQuery(
            queue: queue.name, matching: MessageFilter(headers: ["ninth": "yes"]), end: end, limit: 2, lookMax: 3)
        #expect(try await the.store.replay(query, dryRun: true) == 2)
        #expect(try await the.store.replay(query) == 2)
        #expect(try await records(queue).compactMap(\.origin?.rawValue) == [9, 18])
    }

    @Test(arguments: [QueuePolicy(isFair: true), QueuePolicy(groups: .limit(3)), QueuePolicy()])
    func aReplayIsInItsOldGroupWhereThereAreGroups(_ policy: QueuePolicy) async throws {
        let source = try await the.store.queue("source", of: Int.self, policy: QueuePolicy(isFair: true))
        let queue = try await the.queue(policy: policy)
        try await source.enqueue(1, options: .init(group: "tenant"))
        #expect(try await the.store.replay(MessageQuery(queue: source.name), into: queue.name) == 1)
        let hasGroups = policy.isFair || policy.groups != nil
        #expect(try await records(queue).map(\.group) == [hasGroups ? "tenant" : nil])
    }

    @Test func aDeliveryNamesItsOrigin() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await queue.purge()
        try await the.store.replay(MessageQuery(queue: queue.name))
        var deliveries = queue.deliveries().makeAsyncIterator()
        #expect(try await deliveries.next()?.origin == receipt.sequence)
    }

    @Test func replayingAQueueIntoItselfEnds() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...300))
        #expect(try await the.store.replay(MessageQuery(queue: queue.name)) == 300)
        #expect(try await records(queue).map(\.origin?.rawValue) == (1...300).map { Int64($0) })
        #expect(try await the.store.replay(MessageQuery(queue: queue.name)) == 600)
    }

    @Test func intoAnotherQueueInOrder() async throws {
        let queue = try await the.queue()
        let other = try await the.store.queue("other", of: Int.self)
        try await queue.enqueue(contentsOf: [1, 2, 3])
        #expect(try await the.store.replay(MessageQuery(queue: queue.name), into: other.name) == 3)
        #expect(try await records(other).map(\.payload) == ["1", "2", "3"].map { Array($0.utf8) })
        #expect(try await records(queue).isEmpty)
    }

    @Test func eachIntoItsOwnQueue() async throws {
        let queue = try await the.queue()
        let other = try await the.store.queue("other", of: Int.self)
        for number in 1...5 {
            try await queue.enqueue(number)
            try await other.enqueue(-number)
        }
        #expect(try await the.store.replay(MessageQuery()) == 10)
        #expect(try await records(queue).count == 5)
        #expect(try await records(other).map { String(decoding: $0.payload ?? [], as: UTF8.self) }.first == "-1")
    }

    @Test func onlyWhatTheQueryFinds() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...9))
        try await Worker(queue, options: .init(max: 4)) { _ in }.run()
        #expect(try await the.store.replay(MessageQuery(queue: queue.name, states: [.done])) == 4)
        #expect(try await the.store.replay(MessageQuery(queue: queue.name, after: SequenceNumber(8), limit: 1)) == 5)
        #expect(try await the.store.replay(MessageQuery(queue: queue.name, end: .last, limit: 2)) == 2)
        #expect(try await records(queue).suffix(2).map(\.origin?.rawValue) == [17, 18])
    }

    @Test func aDryRunOnlyCounts() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...30))
        #expect(try await the.store.replay(MessageQuery(queue: queue.name), dryRun: true) == 30)
        #expect(try await records(queue).isEmpty)
        #expect(the.calls.calls(of: .enqueue).count == 1)
    }

    /// A dry run tells of what a replay would come to.
    @Test(arguments: [true, false]) func aQueueThatIsNotThereIsSaid(dryRun: Bool) async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        let nowhere = QueueName(stored: "nowhere")
        let code = await the.code {
            _ = try await the.store.replay(MessageQuery(queue: queue.name), into: nowhere, dryRun: dryRun)
        }
        #expect(code == .unknownQueue)
    }

    @Test func aFullQueueMakesItWait() async throws {
        let queue = try await the.queue()
        let narrow = try await the.store.queue("narrow", of: Int.self, policy: .holding(1, .wait))
        try await queue.enqueue(contentsOf: [1, 2, 3])
        let replay = Task { try await the.store.replay(MessageQuery(queue: queue.name), into: narrow.name) }
        try await Worker(narrow, options: .init(max: 3)) { _ in }.run()
        #expect(try await replay.value == 3)
    }

    @Test func anErrorSaysHowManyWereReplayedBefore() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...1_500))
        the.calls.fail(.enqueue, at: 2, with: PenstockError(.diskFull, "No room is left."))
        let error = await #expect(throws: PenstockError.self) {
            try await the.store.replay(MessageQuery(queue: queue.name))
        }
        #expect(error?.code == .diskFull)
        #expect(error?.message == "No room is left. 1000 messages were replayed before.")
    }

    @Test func anErrorCountsWhatWentInWhileItWaitedForRoom() async throws {
        let queue = try await the.queue()
        let narrow = try await the.store.queue("narrow", of: Int.self, policy: .holding(1_200, .wait))
        try await queue.enqueue(contentsOf: Array(1...1_500))
        // A batch, a part of the next, none, and what is offered when there is room again.
        the.calls.fail(.enqueue, at: 4, with: PenstockError(.diskFull, "No room is left."))
        let enqueues = the.calls.calls(of: .enqueue)
        let offeredBefore = enqueues.count
        let replay = Task { try await the.store.replay(MessageQuery(queue: queue.name), into: narrow.name) }
        try await enqueues.wait(for: offeredBefore + 3)
        try await eventually { !the.calls.isUnderWay }
        try await Worker(narrow, options: .init(max: 1)) { _ in }.run()
        let error = await #expect(throws: PenstockError.self) { try await replay.value }
        #expect(error?.code == .diskFull)
        #expect(error?.message == "No room is left. 1200 messages were replayed before.")
    }

    /// A caller that is told `CancellationError` may take it for the word that nothing was done.
    @Test func oneThatIsCancelledSaysHowManyWereReplayedBefore() async throws {
        let queue = try await the.queue()
        let narrow = try await the.store.queue("narrow", of: Int.self, policy: .holding(1_200, .wait))
        try await queue.enqueue(contentsOf: Array(1...1_500))
        let replay = Task { try await the.store.replay(MessageQuery(queue: queue.name), into: narrow.name) }
        try await eventually { try await narrow.status().depths.ready == 1_200 }
        replay.cancel()
        let error = await #expect(throws: PenstockError.self) { try await replay.value }
        #expect(error?.code == .outcomeUnknown)
        #expect(error?.message.hasSuffix(" 1000 messages were replayed before.") == true)

        // This one finds the queue full, and has put nothing in line.
        let second = Task { try await the.store.replay(MessageQuery(queue: queue.name), into: narrow.name) }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(try await narrow.status().depths.ready == 1_200)
    }

    @Test func anErrorOfADryRunSaysOfNothingThatItWasReplayed() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: Array(1...1_500))
        // The log's end, and two pages.
        the.calls.fail(.messages, at: 3)
        let error = await #expect(throws: PenstockError.self) {
            try await the.store.replay(MessageQuery(queue: queue.name), dryRun: true)
        }
        #expect(error?.message == FaultyStore.error.message)
    }
}
