import GRDB
import MetricsTestKit
import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// What follows a message: in line when the message is done, and only then.
@Suite(.timeLimit(.minutes(5))) struct DraftTests {
    let metrics = TestMetrics()
    let the: Fixture

    init() {
        the = Fixture(options: .init(metrics: metrics))
    }

    private func next(_ policy: QueuePolicy? = nil) async throws -> Queue<String> {
        try await the.store.queue("next", of: String.self, policy: policy)
    }

    private func delivery(_ queue: Queue<Int>) async throws -> Delivery<Int> {
        try await queue.enqueue(7)
        var iterator = queue.deliveries().makeAsyncIterator()
        return try #require(try await iterator.next())
    }

    private func payloads(_ queue: Queue<String>) async throws -> [String] {
        let query = MessageQuery(queue: queue.name, states: [.ready], withPayload: true)
        return try await the.store.list(query).map { String(decoding: $0.payload ?? [], as: UTF8.self) }
    }

    @Test func whatFollowsIsInLineOnceTheMessageIsDone() async throws {
        let (queue, next) = (try await the.queue(), try await next())
        let receipt = try await queue.enqueue(7)
        try await the.drain(queue) { delivery in
            let drafts = try next.drafts(contentsOf: ["a", "b"]) { .init(headers: ["of": $0], priority: 2) }
            let later = try queue.draft(8, options: .init(due: .after(.seconds(9))))
            try await delivery.done(result: "both", then: drafts + [later])
        }
        #expect(try await the.state(receipt) == .done)
        #expect(try await the.store.journal(of: receipt.sequence).result == Array(#""both""#.utf8))
        #expect(try await queue.status().depths.scheduled == 1)
        try await the.drain(next) { delivery in #expect(delivery.headers == ["of": delivery.payload]) }
        let records = try await the.store.list(MessageQuery(queue: next.name))
        #expect(records.map(\.headers) == [["of": "a"], ["of": "b"]])
        #expect(records.allSatisfy { $0.priority == 2 && $0.origin == nil })
        #expect(metrics.counterTotal(label: "penstock.enqueued", dimensions: [("queue", "next")]) == 2)
    }

    @Test func aHandlerThatFailsGivesNothing() async throws {
        let (queue, next) = (try await the.queue(), try await next())
        try await queue.enqueue(7)
        try await the.drain(queue) { _ in
            _ = try next.draft("never")
            throw Reject("no")
        }
        #expect(try await next.status().totals.enqueued == 0)
    }

    @Test func aFullQueueThatFailsRefusesAndTheMessageIsStillHeld() async throws {
        let (queue, next) = (try await the.queue(), try await next(.holding(1, .fail)))
        try await next.enqueue("before")
        let delivery = try await delivery(queue)
        #expect(await the.code { try await delivery.done(then: [next.draft("after")]) } == .queueFull)
        #expect(try await the.store.message(delivery.sequence).state == .leased)
        #expect(delivery.holder.inFlight.isExtended(delivery.lease))
        try await next.purge()
        try await delivery.done(then: [next.draft("after")])
        #expect(try await payloads(next) == [#""after""#])
    }

    @Test func aFullQueueThatWaitsIsWaitedFor() async throws {
        let (queue, next) = (try await the.queue(), try await next(.holding(1, .wait)))
        try await next.enqueue("before")
        let delivery = try await delivery(queue)
        let settling = Task { try await delivery.done(then: [next.draft("after")]) }
        try await the.calls.calls(of: .settle).wait(for: 1)
        #expect(try await the.store.message(delivery.sequence).state == .leased)
        try await next.purge()
        try await the.whileTimePasses { try await settling.value }
        #expect(try await payloads(next) == [#""after""#])
    }

    @Test func aWaitEndsWithItsTimeoutOrTheLease() async throws {
        let (queue, next) = (try await the.queue(), try await next(.holding(1, .wait)))
        try await next.enqueue("before")
        let delivery = try await delivery(queue)
        let late = Task { [the] in
            await the.code { try await delivery.done(then: [next.draft("after")], timeout: .seconds(5)) }
        }
        try await the.calls.calls(of: .settle).wait(for: 1)
        #expect(try await the.whileTimePasses { await late.value } == .timedOut)
        let settledCount = the.calls.calls(of: .settle).count
        let lost = Task { [the] in await the.code { try await delivery.done(then: [next.draft("after")]) } }
        try await the.calls.calls(of: .settle).wait(for: settledCount + 1)
        try await the.store.cancelNow([delivery.sequence])
        try await next.purge()
        #expect(try await the.whileTimePasses { await lost.value } == .leaseLost)
        #expect(try await next.status().depths.ready == 0)
    }

    /// Another producer of the process stands first, and waits for as long as nobody works the next queue.
    @Test func aWaitBehindAnotherProducerEndsWithTheLease() async throws {
        let (queue, next) = (try await the.queue(), try await next(.holding(1, .wait)))
        try await next.enqueue("before")
        let first = Task { try await next.enqueue("first") }
        try await the.time.waitForSleepers()
        let delivery = try await delivery(queue)
        let lost = Task { [the] in await the.code { try await delivery.done(then: [next.draft("after")]) } }
        // One looks for room, the other for the end of its lease.
        try await the.time.waitForSleepers(count: 2)
        #expect(try await the.whileTimePasses { await lost.value } == .leaseLost)
        #expect(the.calls.calls(of: .settle).count == 0)
        first.cancel()
        _ = try? await first.value
        #expect(the.time.sleeperCount == 0)
    }

    @Test func theDeliverysOwnQueueIsNotWaitedFor() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        let delivery = try await delivery(queue)
        try await queue.enqueue(8)
        #expect(await the.code { try await delivery.done(then: [queue.draft(9)]) } == .queueFull)
        try await queue.purge()
        try await delivery.done(then: [queue.draft(9)])
        #expect(try await queue.status().depths.ready == 1)
    }

    @Test func aWorkerThatCannotRunItsCommandAgainOutwaitsAFullQueue() async throws {
        let (queue, next) = (try await the.queue(), try await next(.holding(1, .fail)))
        try await next.enqueue("before")
        let delivery = try await delivery(queue)
        let settling = Task { try await delivery.doneWhileHeld(then: [next.draft("after")]) }
        try await the.calls.calls(of: .settle).wait(for: 1)
        try await next.purge()
        try await the.whileTimePasses { try await settling.value }
        #expect(try await payloads(next) == [#""after""#])
        let other = try await self.delivery(queue)
        let tooMany = try next.drafts(contentsOf: ["1", "2"])
        #expect(await the.code { try await other.doneWhileHeld(then: tooMany) } == .queueFull)
    }

    /// Nobody can extend a lease in a store that does not answer, and nobody has taken the message from it either.
    @Test(arguments: [false, true])
    func aStoreThatStallsForLongerThanALeaseCostsNoAttempt(withDrafts: Bool) async throws {
        let once = QueuePolicy(retry: RetryPolicy(attemptsMax: 1))
        let (queue, next) = (try await the.queue(policy: once), try await next())
        let receipt = try await queue.enqueue(1)
        let full = PenstockError(.diskFull, "No room is left on the disk.")
        for call in [FaultyStore.Call.settle, .extend] {
            for count in 1...20 { the.calls.fail(call, at: count, with: full) }
        }
        let (begun, failed) = (Tally(), Tally())
        let worker = Task {
            try await Worker(queue, options: .init(lease: .seconds(2), max: 1)) { delivery in
                begun.add()
                do {
                    let drafts = withDrafts ? [try next.draft("after")] : []
                    try await delivery.doneWhileHeld(result: withDrafts ? nil : [7], then: drafts)
                } catch {
                    failed.add()
                    throw error
                }
            }.run()
        }
        try await the.whileTimePasses { try await worker.value }
        #expect(begun.count == 1 && failed.count == 0)
        #expect(try await the.state(receipt) == .done)
        #expect(try await next.status().depths.ready == (withDrafts ? 1 : 0))
    }

    /// As with a verdict that a worker hands in: that the store can take nothing is no fault of the message.
    @Test(arguments: [PenstockError.Code.corrupt, .readOnly, .fileReplaced], [false, true])
    func aStoreThatTakesNoVerdictCostsNoAttempt(code: PenstockError.Code, withDrafts: Bool) async throws {
        let once = QueuePolicy(retry: RetryPolicy(attemptsMax: 1))
        let (queue, next) = (try await the.queue(policy: once), try await next())
        let receipt = try await queue.enqueue(1)
        the.calls.fail(.settle, with: PenstockError(code, "The store cannot go on."))
        try await Worker(queue, options: .init(max: 1)) { delivery in
            try await delivery.doneWhileHeld(then: withDrafts ? [next.draft("after")] : [])
        }.run()
        #expect(try await the.state(receipt) == .leased)
        #expect(try await next.status().totals.enqueued == 0)
    }

    /// A try of which nobody knows may have been what settled the message: that its lease is gone then says nothing was lost.
    @Test(arguments: [false, true])
    func aVerdictThatWasTriedBeforeIsNotReportedAsLost(withDrafts: Bool) async throws {
        let (queue, next) = (try await the.queue(), try await next())
        let delivery = try await delivery(queue)
        let drafts = withDrafts ? [try next.draft("after")] : []
        the.calls.fail(.settle, .after, with: PenstockError(.outcomeUnknown, "The connection broke."))
        try await the.whileTimePasses { try await delivery.doneWhileHeld(then: drafts) }
        #expect(the.calls.calls(of: .settle).count == 2)
        #expect(try await the.store.message(delivery.sequence).state == .done)
        #expect(try await next.status().depths.ready == drafts.count)
        #expect(metrics.counterTotal(label: "penstock.lease_lost") == 0)
        // Where the first try is known to have done nothing, a lease that is gone is lost.
        let other = try await self.delivery(queue)
        the.calls.fail(.settle, with: PenstockError(.busy, "Somebody holds the file."))
        let settling = Task { await the.code { try await other.doneWhileHeld(then: drafts) } }
        try await the.calls.calls(of: .settle).wait(for: 3)
        _ = try await the.base.settle([Settlement(other.lease, .done)])
        #expect(try await the.whileTimePasses { await settling.value } == .leaseLost)
    }

    /// A verdict that is refused fails no claim and no other verdict.
    @Test func othersGoOnBesideOneThatWaits() async throws {
        let (queue, next) = (try await the.queue(), try await next(.holding(1, .wait)))
        try await next.enqueue("before")
        let receipts = try await queue.enqueue(contentsOf: Array(1...20))
        let others = Tally()
        let worker = Task { [the] in
            try await Worker(queue, options: .init(concurrency: 4, drain: true)) { delivery in
                if delivery.payload == 1 { return try await delivery.done(then: [next.draft("after")]) }
                others.add()
            }.run()
            return try await the.state(receipts[0])
        }
        try await others.wait(for: 19)
        try await next.purge()
        #expect(try await the.whileTimePasses { try await worker.value } == .done)
        #expect(try await queue.status().totals.done == 20)
        #expect(try await payloads(next) == [#""after""#])
    }

    @Test func inATransactionBothAreThereOrNeither() async throws {
        let folder = TemporaryFolder()
        let pool = try DatabasePool(path: folder.file("test.db"))
        let store = try await PenstockStore.open(pool)
        let queue = try await store.queue("q", of: Int.self)
        let next = try await store.queue("next", of: Int.self, policy: .holding(1, .wait))
        let receipt = try await queue.enqueue(7)
        var deliveries = queue.deliveries().makeAsyncIterator()
        let delivery = try #require(try await deliveries.next())
        struct Broken: Error {}
        await #expect(throws: Broken.self) {
            try await pool.write { db in
                try delivery.done(then: [next.draft(8)], in: db)
                throw Broken()
            }
        }
        #expect(try await next.status().depths.ready == 0)
        let code = await the.code {
            try await pool.write { db in try delivery.done(then: next.drafts(contentsOf: [8, 9]), in: db) }
        }
        #expect(code == .queueFull)
        #expect(try await store.message(receipt.sequence).state == .leased)
        try await pool.write { db in try delivery.done(then: [next.draft(8)], in: db) }
        #expect(try await store.message(receipt.sequence).state == .done)
        #expect(try await next.status().depths.ready == 1)
        try await store.close()
    }
}
