import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct StoreTests {
    let the = Fixture()

    // MARK: Queues

    @Test func aQueueIsMadeWithItsPolicy() async throws {
        let queue = try await the.store.queue("q", of: Int.self, policy: .holding(3, .fail))
        #expect(try await queue.status().policy == .holding(3, .fail))
        #expect(try await the.store.queues().map(\.name.text) == ["q"])
    }

    @Test func aQueueIsMadeWithTheUsualPolicyWhenNoneIsGiven() async throws {
        #expect(try await the.queue().status().policy == QueuePolicy())
    }

    /// What an operator has set by hand outlives the program's next start.
    @Test func anExistingQueueKeepsItsPolicyUntilItIsGivenAnother() async throws {
        let queue = try await the.queue(policy: .holding(3, .fail))
        try await queue.setPolicy(.holding(4, .wait))
        #expect(try await the.queue().status().policy == .holding(4, .wait))
        let again = try await the.queue(policy: .holding(3, .fail))
        #expect(try await again.status().policy == .holding(4, .wait))
        try await again.setPolicy(.holding(3, .fail))
        #expect(try await queue.status().policy == .holding(3, .fail))
    }

    @Test func aMissingQueueIsNotMadeUnlessItMayBe() async throws {
        await #expect(throws: PenstockError.self, "unknownQueue") {
            try await the.store.queue("q", create: false)
        }
        #expect(try await the.store.queues().isEmpty)
        _ = try await the.queue()
        _ = try await the.store.queue("q", create: false)
    }

    @Test(arguments: ["", " q", "q\n"])
    func aNameThatCannotBeIsRefused(name: String) async throws {
        let error = await #expect(throws: PenstockError.self) { try await the.store.queue(name) }
        #expect(error?.code == .invalidInput)
    }

    @Test func aPolicyThatCannotBeIsRefusedAndChangesNothing() async throws {
        let error = await #expect(throws: PenstockError.self) {
            try await the.store.queue("q", policy: .holding(0, .fail))
        }
        #expect(error?.code == .invalidInput)
        #expect(try await the.store.queues().isEmpty)
    }

    @Test func aQueueIsDeleted() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        await #expect(throws: PenstockError.self) { try await the.store.delete(queue.name) }
        try await the.store.delete(queue.name, force: true)
        #expect(try await the.store.queues().isEmpty)
    }

    @Test func pausedAndResumed() async throws {
        let queue = try await the.queue()
        try await queue.pause()
        #expect(try await queue.status().isPaused)
        try await queue.resume()
        #expect(try await !queue.status().isPaused)
    }

    @Test func aPolicyIsSet() async throws {
        let queue = try await the.queue()
        try await queue.setPolicy(.holding(2, .dropOldest))
        #expect(try await queue.status().policy == .holding(2, .dropOldest))
        let error = await #expect(throws: PenstockError.self) { try await queue.setPolicy(.holding(-1, .fail)) }
        #expect(error?.code == .invalidInput)
    }

    // MARK: Messages by hand

    @Test func aMessageIsShownWithPayloadAndAttempts() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(5)
        var deliveries = queue.deliveries().makeAsyncIterator()
        try await deliveries.next()?.retry("no luck")
        let record = try await the.record(receipt)
        #expect(record.payload == Array("5".utf8))
        #expect(record.attempts.map(\.error) == ["no luck"])
    }

    @Test func anUnknownMessage() async throws {
        let error = await #expect(throws: PenstockError.self) { try await the.store.message(SequenceNumber(9)) }
        #expect(error?.code == .unknownMessage)
    }

    @Test func cancelRedriveDiscard() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        let sequences = receipts.map(\.sequence)
        #expect(try await the.store.cancel([sequences[0]]) == 1)
        #expect(try await the.state(receipts[0]) == .cancelled)

        var deliveries = queue.deliveries(inFlightMax: 2).makeAsyncIterator()
        for _ in 1...2 { try await deliveries.next()?.reject("bad") }
        #expect(try await the.store.redrive([sequences[1]]) == 1)
        #expect(try await the.state(receipts[1]) == .ready)
        #expect(try await the.store.discard([sequences[2]]) == 1)
        #expect(try await the.state(receipts[2]) == .cancelled)

        let error = await #expect(throws: PenstockError.self) { try await the.store.discard([sequences[1]]) }
        #expect(error?.code == .illegalTransition)
    }

    @Test func aWholeQueueAtOnce() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: Array(1...5))
        var deliveries = queue.deliveries(inFlightMax: 2).makeAsyncIterator()
        for _ in 1...2 { try await deliveries.next()?.reject("bad") }
        #expect(try await queue.redriveAll(limit: 1) == 1)
        #expect(try await the.state(receipts[0]) == .ready)

        _ = try await deliveries.next()
        // Two are claimed, one of them handed out; two wait, and one is a dead letter.
        #expect(try await queue.purge() == 2)
        #expect(try await queue.status().depths.waiting == 0)
        #expect(try await queue.cancelAll() == 2)
        #expect(try await queue.cancelAll() == 0, "They are asked once.")
        #expect(try await the.store.list(MessageQuery(states: [.leased])).allSatisfy { $0.cancelRequestedAt != nil })
        #expect(try await the.store.cancelNow(.queue(queue.name, states: [.leased])) == 2)
        #expect(try await the.store.list(MessageQuery(states: [.cancelled])).count == 4)
    }

    @Test func purgingTakesWhatWaitsForOtherMessages() async throws {
        let queue = try await the.queue()
        var workflow = Workflow()
        let first = try workflow.add("first", 1, to: queue)
        try workflow.add("second", 2, to: queue, after: first)
        let started = try await the.store.start(workflow)
        try await queue.purge()
        for receipt in started.receipts.values { #expect(try await the.state(receipt) == .cancelled) }
    }

    @Test func pruningGoesOnUntilNothingIsLeft() async throws {
        let queue = try await the.queue()
        for _ in 1...3 { try await queue.enqueue(contentsOf: Array(1...500)) }
        try await queue.purge()
        #expect(try await the.store.prune(retention: Retention(count: 100)) == 1400)
        #expect(the.calls.calls(of: .prune).count == 3)
        #expect(try await queue.status().depths.kept == 100)
    }

    // MARK: The end

    @Test func aClosedStoreSaysSo() async throws {
        let queue = try await the.queue()
        try await the.store.close()
        let error = await #expect(throws: PenstockError.self) { try await queue.enqueue(1) }
        #expect(error?.code == .closed)
    }

    @Test func closingGivesBackWhatIsHeld() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        var deliveries = queue.deliveries().makeAsyncIterator()
        _ = try await deliveries.next()
        try await the.store.close()
        #expect(try await the.otherProcess().message(receipt.sequence).state == .ready)
    }
}
