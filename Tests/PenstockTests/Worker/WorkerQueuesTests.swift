import MetricsTestKit
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// A worker of several queues.
@Suite(.timeLimit(.minutes(5))) struct WorkerQueuesTests {
    let the = Fixture()

    /// What began, as the queue's name and the payload, in order.
    private final class Begun: Sendable {
        private let all = Mutex<[String]>([])
        let tally = Tally()

        func add(_ delivery: Delivery<Int>) {
            all.withLock { $0.append("\(delivery.queue)\(delivery.payload)") }
            tally.add()
        }

        var texts: [String] { all.withLock { $0 } }
    }

    private let begun = Begun()

    private func queue(_ name: String) async throws -> Queue<Int> {
        try await the.store.queue(name, of: Int.self)
    }

    /// One handler at a time, and nothing claimed beyond it.
    private func options(concurrency: Int = 1, max: Int? = nil, drain: Bool = true) -> Worker<Int>.Options {
        .init(concurrency: concurrency, ahead: .zero, max: max, drain: drain)
    }

    @Test func strictServesTheFirstQueueFirst() async throws {
        let (a, b) = (try await queue("a"), try await queue("b"))
        try await b.enqueue(contentsOf: [1, 2, 3])
        try await a.enqueue(contentsOf: [1, 2])
        try await Worker([a, b], options: options()) { [begun] delivery in
            begun.add(delivery)
            // It is served before what has waited in the other one.
            if delivery.queue == b.name, delivery.payload == 1 { try await a.enqueue(3) }
        }.run()
        #expect(begun.texts == ["a1", "a2", "b1", "a3", "b2", "b3"])
    }

    @Test func weightedSharesTheStarts() async throws {
        let (a, b) = (try await queue("a"), try await queue("b"))
        try await a.enqueue(contentsOf: Array(1...6))
        try await b.enqueue(contentsOf: Array(1...4))
        try await Worker([a, b], order: .weighted([3, 1]), options: options()) { [begun] in begun.add($0) }.run()
        // As long as both have some; then what is left.
        #expect(begun.texts == ["a1", "b1", "a2", "a3", "a4", "b2", "a5", "a6", "b3", "b4"])
    }

    @Test func aClaimOfManyPlacesIsSharedAsWell() async throws {
        let (a, b) = (try await queue("a"), try await queue("b"))
        try await a.enqueue(contentsOf: Array(1...20))
        try await b.enqueue(contentsOf: Array(1...20))
        let gate = Tally()
        let worker = Task {
            try await Worker([a, b], order: .weighted([3, 1]), options: options(concurrency: 8, max: 8)) { [begun] in
                begun.add($0)
                try await gate.wait(for: 1)
            }.run()
        }
        try await begun.tally.wait(for: 8)
        // Never more than there are places.
        #expect(try await a.status().depths.leased == 6)
        #expect(try await b.status().depths.leased == 2)
        gate.add()
        try await worker.value
    }

    @Test(arguments: [QueueOrder.strict, .weighted([1, 1, 1])])
    func noQueueWaitsWhilePlacesAreFree(order: QueueOrder) async throws {
        let (a, b, c) = (try await queue("a"), try await queue("b"), try await queue("c"))
        try await a.enqueue(1)
        try await c.enqueue(contentsOf: [1, 2, 3, 4])
        let gate = Tally()
        let worker = Task {
            try await Worker([a, b, c], order: order, options: options(concurrency: 5)) { [begun] in
                begun.add($0)
                try await gate.wait(for: 1)
            }.run()
        }
        try await begun.tally.wait(for: 5)
        gate.add()
        try await worker.value
        #expect(begun.texts.sorted() == ["a1", "c1", "c2", "c3", "c4"])
    }

    @Test func aWorkerThatWaitsHearsOfEachQueue() async throws {
        let queues = [try await queue("a"), try await queue("b"), try await queue("c")]
        let worker = Task {
            try await Worker(queues, options: options(max: 3, drain: false)) { [begun] in begun.add($0) }.run()
        }
        for (index, queue) in queues.enumerated().reversed() {
            try await the.base.changes.waitForWaiters(count: 3)
            try await queue.enqueue(index)
            try await begun.tally.wait(for: 3 - index)
        }
        try await worker.value
        #expect(begun.texts == ["c2", "b1", "a0"])
    }

    @Test func whatIsDueInAnyQueueIsWorkedThen() async throws {
        let (a, b) = (try await queue("a"), try await queue("b"))
        try await b.enqueue(1, options: .init(due: .after(.milliseconds(70))))
        try await the.whileTimePasses {
            try await Worker([a, b], options: options(max: 1, drain: false)) { [begun] in begun.add($0) }.run()
        }
        #expect(begun.texts == ["b1"])
    }

    /// A queue that was found empty is not asked again with every message of another one.
    @Test func anEmptyQueueCostsNothing() async throws {
        let (a, b) = (try await queue("a"), try await queue("b"))
        try await b.enqueue(contentsOf: Array(1...50))
        try await Worker([a, b], options: options()) { [begun] in begun.add($0) }.run()
        #expect(begun.texts.count == 50)
        // Those of `b`, and a few at the beginning and the end.
        #expect(the.calls.calls(of: .claim).count <= 55)
    }

    /// What others than Penstock write is not heard of while handlers run, and found all the same.
    @Test func anEmptyQueueIsAskedAgainAfterAWhile() async throws {
        let the = Fixture(silent)
        let (a, b) = (
            try await the.store.queue("a", of: Int.self), try await the.store.queue("b", of: Int.self)
        )
        try await b.enqueue(contentsOf: [1, 2, 3])
        try await Worker([a, b], options: options()) { [begun] delivery in
            begun.add(delivery)
            if delivery.payload == 1 {
                try await a.enqueue(9)
                the.time.advance(by: WorkerRound.emptyMax)
            }
        }.run()
        #expect(begun.texts == ["b1", "a9", "b2", "b3"])
    }

    /// One that was woken alone for messages of two queues and has a place for one sees to the other's.
    @Test func messagesThatFindNoPlaceAreNotForgotten() async throws {
        let queues = [try await queue("a"), try await queue("b")]
        var round = WorkerRound(LeaseHolder.sharing(queues, lease: .seconds(30)), order: .strict)
        func claim(_ index: Int) async throws -> Claim {
            let request = ClaimRequest(queue: queues[index].name, limit: 1, lease: .seconds(30))
            let performed = try await round.claimLoop.perform([.claim(request)])
            guard case .claimed(let claim)? = performed.answers.first else { throw PenstockError.unexpectedAnswer }
            round.note(claim, of: 1, from: index, at: the.time.boot)
            return claim
        }
        for index in 0...1 { #expect(try await claim(index).messages.isEmpty) }
        round.promise(1)
        for queue in queues { try await queue.enqueue(1) }
        round.takePromises()
        #expect(round.owed == [1, 1])
        // A claim that failed has paid nothing.
        round.takePromises()
        #expect(round.owed == [1, 1])
        #expect(try await claim(0).messages.count == 1)
        // The place is taken, and the second queue was not asked.
        var full = round
        #expect(full.takeUnkept() == [1])
        full.takePromises()
        #expect(full.owed == [0, 0])
        // Somebody else was faster there.
        _ = try await the.base.claim(ClaimRequest(queue: queues[1].name, limit: 1, lease: .seconds(30)))
        _ = try await claim(1)
        #expect(round.takeUnkept() == [])
    }

    /// The call has taken the announcement for heard, and nobody else was woken for it.
    @Test func aQueueThatCouldNotBeAskedIsAskedAgain() async throws {
        let queues = [try await queue("a"), try await queue("b")]
        var round = WorkerRound(LeaseHolder.sharing(queues, lease: .seconds(30)), order: .strict)
        let requests = queues.map { ClaimRequest(queue: $0.name, limit: 1, lease: .seconds(30)) }
        func shares() -> [Int] { round.shares(of: 1, at: the.time.boot, the.time.now, except: []) }
        for (index, request) in requests.enumerated() {
            let performed = try await round.claimLoop.perform([.claim(request)])
            guard case .claimed(let claim)? = performed.answers.first else { throw PenstockError.unexpectedAnswer }
            round.note(claim, of: 1, from: index, at: the.time.boot)
        }
        #expect(shares() == [0, 0])
        try await queues[1].enqueue(1)
        #expect(shares() == [0, 1])
        round.ask([1])
        the.calls.fail(.claim, with: PenstockError(.busy, "Busy."))
        await #expect(throws: PenstockError.self) { _ = try await round.claimLoop.perform([.claim(requests[1])]) }
        #expect(shares() == [0, 1])
    }

    // MARK: One queue's matters

    @Test func aPausedQueueKeepsNoOtherFromItsWork() async throws {
        let (a, b) = (try await queue("a"), try await queue("b"))
        try await a.enqueue(1)
        try await b.enqueue(1)
        try await a.pause()
        let worker = Task {
            try await Worker([a, b], options: options(max: 2, drain: false)) { [begun] in begun.add($0) }.run()
        }
        try await begun.tally.wait(for: 1)
        #expect(begun.texts == ["b1"])
        try await a.resume()
        try await worker.value
        #expect(begun.texts == ["b1", "a1"])
    }

    @Test func aQueueThatIsDeletedIsLookedForAndTheOthersGoOn() async throws {
        let (a, b) = (try await queue("a"), try await queue("b"))
        try await a.enqueue(1)
        let worker = Task {
            try await Worker([a, b], options: options(max: 3, drain: false)) { [begun] in begun.add($0) }.run()
        }
        try await begun.tally.wait(for: 1)
        try await eventually { try await a.status().depths.leased == 0 }
        try await the.store.delete(a.name, force: true)
        try await b.enqueue(2)
        try await begun.tally.wait(for: 2)
        let again = try await queue("a")
        try await again.enqueue(3)
        try await the.whileTimePasses { try await worker.value }
        #expect(begun.texts == ["a1", "b2", "a3"])
    }

    @Test func whenAllAreGoneTheWorkerEnds() async throws {
        let queues = [try await queue("a"), try await queue("b")]
        for queue in queues { try await the.store.delete(queue.name) }
        let error = await #expect(throws: PenstockError.self) {
            try await Worker(queues, options: options(drain: false)) { _ in }.run()
        }
        #expect(error?.code == .unknownQueue)
    }

    @Test func eachQueueIsMeasuredByItself() async throws {
        let metrics = TestMetrics()
        let the = Fixture(options: .init(metrics: metrics))
        let a = try await the.store.queue("a", of: Int.self)
        let b = try await the.store.queue("b", of: Int.self)
        try await a.enqueue(contentsOf: [1, 2])
        try await b.enqueue(contentsOf: [1, 2, 3])
        try await Worker([a, b], options: options(concurrency: 2)) { delivery in
            if delivery.queue == b.name { throw Reject("no") }
        }.run()
        func total(_ name: String, _ queue: String) -> Int64 {
            metrics.counterTotal(label: "penstock.\(name)", dimensions: [("queue", queue)])
        }
        #expect([total("claimed", "a"), total("done", "a"), total("dead", "a")] == [2, 2, 0])
        #expect([total("claimed", "b"), total("done", "b"), total("dead", "b")] == [3, 0, 3])
        for (name, count) in [("a", 2), ("b", 3)] {
            #expect(try metrics.expectTimer("penstock.work", [("queue", name)]).values.count == count)
        }
    }

    /// The leases of all queues are extended together.
    @Test(.inMemory) func leasesOfAllQueuesAreExtended() async throws {
        let (a, b) = (try await queue("a"), try await queue("b"))
        let receipts = [try await a.enqueue(1), try await b.enqueue(1)]
        let gate = Tally()
        let worker = Task {
            try await Worker([a, b], options: .init(concurrency: 2, lease: .seconds(9), drain: true)) { [begun] in
                begun.add($0)
                try await gate.wait(for: 1)
            }.run()
        }
        try await begun.tally.wait(for: 2)
        for count in 1...6 {
            try await the.time.waitForSleepers(count: Fixture.sleepersOfWorker)
            the.time.advance(by: .seconds(3))
            try await the.calls.calls(of: .extend).wait(for: count)
        }
        _ = try await the.base.reclaim()
        for receipt in receipts { #expect(try await the.state(receipt) == .leased) }
        gate.add()
        try await worker.value
        for receipt in receipts { #expect(try await the.state(receipt) == .done) }
    }

    // MARK: Wrong input

    @Test func queuesThatCannotBeAreRefused() async throws {
        let (a, b) = (try await queue("a"), try await queue("b"))
        let other = try await Fixture().store.queue("c", of: Int.self)
        for (queues, order, words) in [
            ([], .strict, "at least one queue"), ([a, a], .strict, "'a' is given twice"),
            ([a, other], .strict, "of two stores"), ([a, b], .weighted([1]), "2 queues, and 1 weights"),
            ([a, b], .weighted([1, 0]), "1 to 1000, not 0"), ([a, b], .weighted([1001, 1]), "not 1001"),
        ] as [([Queue<Int>], QueueOrder, String)] {
            let error = await #expect(throws: PenstockError.self) {
                try await Worker(queues, order: order) { _ in }.run()
            }
            #expect(error?.code == .invalidInput)
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        }
    }
}
