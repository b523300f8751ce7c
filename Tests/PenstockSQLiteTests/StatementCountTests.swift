import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What calls ask of a file without workflows for the sake of workflows: one statement each.
@Suite(.timeLimit(.minutes(5))) struct StatementCountTests {
    private let folder = TemporaryFolder()
    private let statements = Statements()
    private let store: SQLiteStore

    init() async throws {
        store = try await statements.store(at: folder.file("queue.db"))
        try await store.configure(.jobs, .create(QueuePolicy(retention: Retention(count: 3)), ifAbsent: false))
    }

    private func count(_ parts: String..., in ran: [String]) -> Int {
        ran.count { sql in parts.contains { sql.contains($0) } }
    }

    @Test func aClaimAsksOnceWhetherSomethingIsLeft() async throws {
        try await store.put(.text("a"))
        _ = statements.take()
        #expect(try await store.take().count == 1)
        let ran = statements.take()
        // Once before it takes the lock, and once with it.
        #expect((1...2).contains(count("FROM penstock_cascade", in: ran)), "\(ran)")
        try await store.close()
    }

    /// What a step has not come to stays as it is written down.
    @Test func aStepOfACascadeWritesDownWhatHasChanged() async throws {
        let firsts = ["a", "b", "c"]
        let others = firsts.flatMap { first in (1...1500).map { ("\(first)\($0)", [first]) } }
        try await store.begin(firsts.map { ($0, []) } + others)
        for message in try await store.take(3) { _ = try await store.settle([Settlement(message.lease, .done)]) }
        // A thousand in a step: 500 are left of each of the three.
        for (written, pending) in [(0, 500), (0, 0)] {
            _ = statements.take()
            #expect(try await store.take().count == 1)
            let ran = statements.take()
            #expect(count("INSERT OR REPLACE INTO penstock_cascade", in: ran) == written, "\(ran)")
            #expect(try await store.status(of: .jobs).queues.first?.depths.pending == pending)
        }
        try await store.close()
    }

    /// Workers look again and again while they are kept from what is ready.
    @Test(arguments: [
        QueuePolicy(limit: 1), QueuePolicy(sharedLimit: .both), QueuePolicy(rate: Rate(1, per: .seconds(3600))),
    ])
    func aClaimThatMayTakeNothingTakesNoLock(policy: QueuePolicy) async throws {
        try await store.setLimit(.both, to: 1)
        try await store.configure(.jobs, .set(policy))
        for text in ["1", "2"] { try await store.put(.text(text)) }
        #expect(try await store.take(2).count == 1)
        _ = statements.take()
        #expect(try await store.take().isEmpty)
        let ran = statements.take()
        #expect(!ran.isEmpty && count("BEGIN IMMEDIATE", in: ran) == 0, "\(ran)")
        try await store.close()
    }

    /// A worker that is a client of a server has a name of its own at each start, and others cannot write meanwhile.
    @Test func aClaimOfANewRemoteWorkerAsksForNoOther() async throws {
        let looks = ["SELECT worker_id, deadline FROM penstock_lease", "SELECT id, lock_name, boot_id"]
        for name in ["first", "second"] {
            try await store.put(.text(name))
            _ = statements.take()
            let worker = WorkerName(stored: name)
            let claim = try await store.claim(
                ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30), remoteWorker: worker))
            let ran = statements.take()
            #expect(claim.messages.count == 1)
            #expect(count("INSERT OR REPLACE INTO penstock_remote_worker", in: ran) == 1, "\(ran)")
            #expect(looks.map { count($0, in: ran) } == [0, 0], "\(ran)")
        }
        _ = statements.take()
        _ = try await store.reclaim()
        let ran = statements.take()
        #expect(looks.allSatisfy { count($0, in: ran) > 0 }, "A look for lost work does: \(ran)")
        try await store.close()
    }

    @Test func anAppendToAFullLogAsksOnceForTraces() async throws {
        for number in 1...5 {
            _ = statements.take()
            _ = try await store.append([.text("\(number)")], to: .jobs, unless: nil, durability: .processCrash)
        }
        let ran = statements.take()
        #expect(count("DELETE FROM penstock_outcome", in: ran) == 1, "It forgets one.")
        let traces = ["task", "result", "step", "event", "awaited"].map { "FROM penstock_\($0)" }
        #expect(ran.count { sql in traces.contains { sql.contains($0) } } == 1, "\(ran)")
        try await store.close()
    }

    /// A store may have thousands of queues, each with readers of its log.
    @Test func theStatusOfAQueueAsksForNoOther() async throws {
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        for queue in [QueueName.jobs, .mail] {
            _ = try await store.moveCursor(CursorName(stored: "reader"), of: queue, .place(after: nil))
            _ = try await store.put(.text("a"), to: queue)
        }
        _ = statements.take()
        let status = try await store.status(of: .jobs)
        let ran = statements.take()
        let others = ran.filter { sql in
            ["penstock_queue", "penstock_depth", "penstock_cursor"].contains { sql.contains($0) }
                && !sql.contains("= ?1")
        }
        #expect(ran.contains { $0.contains("penstock_depth") } && others == [], "\(others)")
        let all = try await store.status(of: nil)
        #expect(status.queues == [all.queues[0]] && status.cursors == [all.cursors[0]])
        #expect(all.queues.map(\.name) == [.jobs, .mail] && all.cursors.map(\.queue) == [.jobs, .mail])
        try await store.close()
    }

    /// A search for what a queue does not have goes to its end, and with every page again.
    @Test func whatHasEndedIsOneSearch() async throws {
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        _ = try await store.enqueue((1...9).map { .text("\($0)") }, to: .mail, durability: .processCrash)
        let claimed = try await store.take(8, from: .mail)
        _ = try await store.settle(
            claimed.map {
                Settlement($0.lease, $0.lease.sequence.rawValue.isMultiple(of: 2) ? .dead(error: "e") : .done)
            })
        _ = try await store.apply(.cancel, to: .queue(.mail, states: [.ready]))
        let done = claimed.map(\.lease.sequence).filter { !$0.rawValue.isMultiple(of: 2) }
        let dead = claimed.map(\.lease.sequence).filter { $0.rawValue.isMultiple(of: 2) }
        for (states, found) in [
            ([.done, .dead, .dropped, .cancelled], 9), ([.done, .cancelled], done.count + 1),
            ([.done, .dead], 8), ([.cancelled, .dropped], 1),
        ] as [(Set<MessageState>, Int)] {
            _ = statements.take()
            let page = try await store.messages(MessageQuery(queue: .mail, states: states))
            #expect(count("FROM penstock_outcome AS line", in: statements.take()) == 1, "\(states)")
            #expect(page.records.count == found && page.records.allSatisfy { states.contains($0.state) }, "\(states)")
        }
        _ = statements.take()
        #expect(try await store.messages(MessageQuery(queue: .mail, states: [.dead])).map(\.sequence) == dead)
        // Those that an index finds go by it.
        #expect(count("INDEXED BY penstock_outcome_dead", in: statements.take()) == 1)
        try await store.close()
    }

    /// What is scheduled or leased lies by its numbers: to look for one queue's is to look through all.
    @Test func whatIsScheduledOrLeasedInAnyQueueIsOneSearch() async throws {
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        var wanted: [SequenceNumber] = []
        for queue in [QueueName.jobs, .mail, .jobs] {
            wanted.append(try await store.put(.text("later", due: .after(.seconds(86_400))), to: queue).sequence)
            wanted.append(try await store.put(.text("now"), to: queue).sequence)
            _ = try await store.take(from: queue)
            try await store.put(.text("ready", priority: -1), to: queue)
        }
        for end in [MessageQuery.End.first, .last] {
            _ = statements.take()
            let page = try await store.messages(MessageQuery(states: [.scheduled, .leased], end: end))
            let ran = statements.take()
            #expect(count("FROM penstock_scheduled AS line", in: ran) == 1, "\(ran)")
            #expect(count("FROM penstock_lease AS line", in: ran) == 1, "\(ran)")
            #expect(page.map(\.sequence) == wanted)
        }
        let own = try await store.messages(MessageQuery(queue: .jobs, states: [.scheduled, .leased]))
        #expect(own.map(\.sequence) == [wanted[0], wanted[1], wanted[4], wanted[5]])
        try await store.close()
    }

    /// Their numbers are no neighbours: to a server each statement is a way there and back.
    @Test func whatGoesInOneStepGoesByFewStatements() async throws {
        try await store.configure(.jobs, .set(QueuePolicy()))
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        for _ in 1...40 {
            for queue in [QueueName.jobs, .mail] {
                _ = try await store.append([.text("a")], to: queue, unless: nil, durability: .processCrash)
            }
        }
        _ = statements.take()
        let request = PruneRequest(queue: .jobs, retention: Retention(age: nil, count: 10))
        #expect(try await store.prune(request).messages == 30)
        #expect(count("DELETE FROM penstock_log", in: statements.take()) == 1)
        for number in 1...40 { try await store.put(.text("b", priority: number % 2), to: number < 21 ? .jobs : .mail) }
        _ = statements.take()
        try await store.configure(.jobs, .delete(force: true))
        let ran = statements.take()
        #expect(count("DELETE FROM penstock_log", in: ran) == 2, "Neighbours, and the others: \(ran)")
        #expect(ran.count < 100, "\(ran)")
        #expect(try await store.depths(.mail).ready == 20)
        #expect(try await store.texts().count == 60)
        try await store.close()
    }

    /// In a store of thousands of queues each would cost some statements while nobody else can write.
    @Test func aPruningAsksOfTheQueuesThatHaveSomethingAlone() async throws {
        for number in 1...20 {
            try await store.configure(QueueName(stored: "idle \(number)"), .create(QueuePolicy(), ifAbsent: false))
        }
        _ = statements.take()
        #expect(try await store.prune(PruneRequest()) == Pruned())
        let idle = statements.take()
        #expect(count("FROM penstock_expiry", in: idle) == 1, "One statement for all of them: \(idle)")
        #expect(count("BEGIN IMMEDIATE", in: idle) == 0, "Nobody waits for it: \(idle)")
        for number in 1...5 { try await store.put(.text("\(number)")) }
        for _ in 1...5 { try await store.work(.done) }
        _ = statements.take()
        #expect(try await store.prune(PruneRequest()) == Pruned(messages: 2), "Three are kept.")
        let ran = statements.take()
        let looks = ["FROM penstock_expiry WHERE queue_id", "DELETE FROM penstock_unique_period"]
        #expect(looks.map { count($0, in: ran) } == [1, 1], "\(ran)")
        try await store.close()
    }
}
