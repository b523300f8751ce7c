import Foundation
import PenstockConformance
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Moving house, from file to file.
@Suite(.timeLimit(.minutes(5))) struct CopyTests: CopyFixture {
    let time = ManualTime()
    let folder = TemporaryFolder()

    /// Queues of many kinds, with messages in every state but leased.
    private func fill(_ store: SQLiteStore) async throws {
        try await store.setLimit(LimitName(stored: "shared"), to: 9)
        var policy = QueuePolicy(retry: RetryPolicy(attemptsMax: 2, base: .zero))
        policy.sharedLimit = LimitName(stored: "shared")
        try await store.configure(.jobs, .create(policy, ifAbsent: true))
        try await store.configure(.mail, .create(QueuePolicy(groups: .fifo(onDead: .hold)), ifAbsent: true))
        for number in 1...20 { try await store.put(.text("\(number)", priority: number % 3, key: "key \(number)")) }
        let messages = try await store.take(5)
        _ = try await store.settle([
            Settlement(messages[0].lease, .done), Settlement(messages[1].lease, .dead(error: "e")),
            Settlement(messages[2].lease, .retry(error: "not yet")), Settlement(messages[3].lease, .release),
            Settlement(messages[4].lease, .done),
        ])
        try await store.setLimit(LimitName(stored: "shared"), to: 3)
        try await store.put(.text("later", due: .after(.seconds(99)), expiry: .after(.seconds(500))))
        for number in 1...4 { try await store.put(.text("\(number)", group: "a\(number % 2)"), to: .mail) }
        _ = try await store.moveCursor(CursorName(stored: "reader"), of: .mail, .place(after: nil, note: "n"))
    }

    /// Copies until it is done, however often it is interrupted.
    private func copy(_ move: StoreCopy, interruptedAfter steps: Int = .max) async throws -> CopyReport {
        let left = Countdown(steps)
        let from = try await open(source, afterStep: { try left.step() })
        let into = try await open(target)
        do {
            let report = try await from.copy(to: into, move) { _ in }
            try await from.close()
            try await into.close()
            return report
        } catch is Countdown.Over {
            await from.crash()
            await into.crash()
            return try await copy(move)
        }
    }

    /// What rules leave behind in a store is the same in the store to which it moves. One rule of twenty, as a move costs many flushes.
    @Test(arguments: ConformanceCase.sample(oneOf: 20, lot: 3))
    func everythingMoves(_ rule: ConformanceCase) async throws {
        let harness = SQLiteHarness()
        try await rule.run(on: harness)
        guard FileManager.default.fileExists(atPath: harness.path) else { return }
        // What workers have left goes back in line.
        _ = try await SQLiteStore.restore(from: harness.path, to: source)
        let before = try StoreContents.read(source)
        #expect(try await findings(source) == [], "before the move, of \(rule)")
        let report = try await copy(StoreCopy(source: "a", target: "b", withLog: true))
        #expect(report.sequenceOffset == 0)
        let after = try StoreContents.read(target)
        for (table, rows) in before where table != "regroup" {
            #expect(after[table] == rows, "penstock_\(table) differs after \(rule)")
        }
        // To pause a group notes it.
        #expect(Set(before["regroup"] ?? []).isSubset(of: after["regroup"] ?? []))
        #expect(try await findings(target) == [])
    }

    /// A process that dies behind any step is followed by one that goes on from there.
    @Test(arguments: 1...20) func nothingComesTwiceAndNothingIsLeftOut(_ steps: Int) async throws {
        let store = try await open(source)
        try await fill(store)
        try await store.close()
        let before = try StoreContents.read(source)
        _ = try await copy(StoreCopy(source: "a", target: "b", withLog: true), interruptedAfter: steps)
        #expect(try StoreContents.read(target) == before)
        #expect(try await findings(target) == [])
        #expect(try await findings(source) == [.storeMoved])
    }

    @Test func whatHasEndedStaysUnlessItIsAskedFor() async throws {
        let store = try await open(source)
        try await fill(store)
        // Done, and behind the place of nobody.
        _ = try await store.append([.text("read"), .text("unread")], to: .mail, unless: nil, durability: .processCrash)
        try await store.close()
        let report = try await copy(move)
        #expect(
            report.queues.map(\.counts) == [
                [.ready: 17, .dead: 1, .scheduled: 1], [.ready: 2, .blocked: 2, .done: 2],
            ])
        #expect(report.total == 25 && !report.wasFinished && report.setAside == 0)
        let new = try await open(target)
        #expect(try await new.depths().kept == 0)
        #expect(try await new.status(of: .jobs).queues.first?.totals.done == 2, "The queue has moved, and its totals.")
        #expect(try await new.put(.text("next")).sequence.rawValue == 28)
        try await new.close()
        #expect(try await copy(move).wasFinished)
    }

    /// In a store that is in use the numbers are higher, and `penstock_origins` tells which they were.
    @Test func aStoreInUseGetsOtherNumbers() async throws {
        let store = try await open(source)
        try await fill(store)
        try await store.close()
        let before = try StoreContents.read(source)
        let other = try await open(target)
        try await other.configure(QueueName(stored: "own"), .create(QueuePolicy(), ifAbsent: false))
        for _ in 1...3 { try await other.put(.text("own"), to: QueueName(stored: "own")) }
        try await other.close()
        let report = try await copy(StoreCopy(source: "a", target: "b", withLog: true))
        #expect(report.sequenceOffset == 3)
        var after = try StoreContents.read(target, sequencesLower: 3)
        for (table, rows) in after {
            after[table] = rows.filter {
                !$0.contains("own") && !$0.hasPrefix("sequence: -") && !$0.hasPrefix("sequence: 0")
            }
        }
        for table in ["blocked", "ready", "scheduled", "attempt", "permit", "cursor", "unique", "expiry", "queue"] {
            let own = table == "ready" ? (after[table] ?? []).filter { !$0.contains("\"own\"") } : after[table]
            #expect(own == before[table], "penstock_\(table)")
        }
        let shell = SQLiteShell(path: target)
        let origins = try await shell.run("SELECT * FROM penstock_origins WHERE sequence IN (4, 28) ORDER BY 1")
        #expect(origins.output == "4|jobs|a|1\n28|mail|a|25\n")
        #expect(try await findings(target) == [])
    }

    // MARK: Refusals

    /// A process that had the store open before is refused as well, whatever it asks for. Reading goes on.
    @Test func theStoreThatIsLeftIsClosedForAll() async throws {
        let old = try await open(source)
        try await fill(old)
        let idle = try await open(source)
        let schedule = Schedule(queue: .jobs, spec: "@daily", message: .text("x"))
        try await old.schedule(ScheduleName("s"), .put(schedule, replacing: false))
        _ = try await copy(move)
        let refusal = await expect(.storeMoved) { try await old.put(.text("x")) }
        #expect(
            refusal?.message
                == "The queues of source.db have moved to target.db; use that store, or open this one again with `penstock copy --cancel --from source.db`."
        )
        await expect(.storeMoved) { try await idle.take() }
        // An empty queue would have a worker wait for ever.
        await expect(.storeMoved) { try await idle.claim(ClaimRequest(queue: .mail, limit: 1, lease: .seconds(1))) }
        await expect(.storeMoved) { try await old.configure(.jobs, .pause) }
        await expect(.storeMoved) { try await old.configure(.jobs, .delete(force: true)) }
        await expect(.storeMoved) { try await old.prune(PruneRequest()) }
        await expect(.storeMoved) {
            try await old.append([.text("x")], to: .jobs, unless: nil, durability: .processCrash)
        }
        let shell = SQLiteShell(path: source)
        for statement in [
            "INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'x')",
            "INSERT INTO penstock_schedules (name, queue, spec, payload) VALUES ('t', 'jobs', '@daily', 'x')",
            "UPDATE penstock_schedules SET payload = 'y'", "DELETE FROM penstock_schedules",
        ] {
            let done = try await shell.run(statement)
            #expect(
                !done.succeeded && done.errors.contains("the queues of this store have moved to another one"),
                "\(statement)")
        }
        #expect(try await old.depths().ready == 17)
        try await idle.close()
        #expect(try await old.cancelCopy(into: nil, force: true) == "target.db")
        try await old.put(.text("x"))
        #expect(try await old.cancelCopy(into: nil) == nil)
        try await old.close()
    }

    /// What has come has higher numbers than what was there, and is older.
    @Test func messagesAreFoundByTheirTimeAmongThoseThatHaveCome() async throws {
        let (from, into) = (try await open(source), try await open(target))
        try await from.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        for number in 1...20 { try await from.put(.text("old \(number)")) }
        time.advance(by: .seconds(86_400))
        let today = time.now
        try await into.configure(.mail, .create(QueuePolicy(), ifAbsent: true))
        for text in ["a", "b", "c"] { try await into.put(.text(text), to: .mail) }
        _ = try await from.copy(to: into, move) { _ in }
        let recent = try await into.messages(MessageQuery(since: today, withPayload: true)).records
        #expect(recent.compactMap(\.payload).map { String(decoding: $0, as: UTF8.self) } == ["a", "b", "c"])
        #expect(try await into.messages(MessageQuery(before: today)).records.count == 20)
        try await from.close()
        try await into.close()
    }

    @Test func nothingBeginsWhileWorkersHaveMessages() async throws {
        let worker = try await open(source)
        try await fill(worker)
        let message = try #require(try await worker.take().first)
        let error = await expect(.busy) { try await copy(move) }
        #expect(error?.message.hasPrefix("1 message of source.db is with workers; ") == true)
        try await worker.put(.text("still open"))

        // With some time it may settle what it has, and gets nothing new.
        let (from, into) = (try await open(source), try await open(target))
        let patient = StoreCopy(source: "a", target: "b", wait: .seconds(60))
        async let report = from.copy(to: into, patient) { _ in }
        try await time.waitForSleepers()
        await expect(.storeMoved) { try await worker.take() }
        await expect(.storeMoved) { try await worker.put(.text("x")) }
        #expect(try await worker.status(of: nil).move?.phase == .draining)
        _ = try await worker.perform([.settle([Settlement(message.lease, .done)])])
        time.advance(by: .milliseconds(100))
        #expect(try await report.total == 23)
        try await worker.close()
        try await from.close()
        try await into.close()
    }

    /// What comes is closed until all of it is there, for whoever has the target open.
    @Test func queuesOpenAllAtOnce() async throws {
        let store = try await open(source)
        try await fill(store)
        try await store.close()
        let looker = try await open(target)
        let looks = Countdown(.max)
        let from = try await open(
            source,
            afterStep: {
                try looks.step()
                guard try await looker.status(of: nil).queues.contains(where: { $0.name == .jobs && $0.isDeleting })
                else { return }
                let refusal = await expect(.queueDeleting) { try await looker.put(.text("x")) }
                #expect(refusal?.message.hasPrefix("The queue 'jobs' is being copied here from source.db") == true)
                #expect(try await looker.take(9).isEmpty)
                await expect(.queueDeleting) { try await looker.configure(.jobs, .resume) }
            })
        let into = try await open(target)
        _ = try await from.copy(to: into, move) { _ in }
        #expect(looks.count > 10)
        #expect(try await looker.take(99).count == 3, "As many as the limit that came with it.")
        for store in [from, into, looker] { try await store.close() }
    }

    @Test func aCancelledMoveLeavesNothing() async throws {
        let store = try await open(source)
        try await fill(store)
        try await store.close()
        let left = Countdown(3)
        let (from, into) = (try await open(source, afterStep: { try left.step() }), try await open(target))
        await #expect(throws: Countdown.Over.self) { _ = try await from.copy(to: into, move) { _ in } }
        #expect(try await into.status(of: nil).queues.count == 2)
        await from.crash()
        let again = try await open(source)
        #expect(try await again.cancelCopy(into: into) == "target.db")
        #expect(try await into.status(of: nil).queues == [])
        #expect(try await into.limits() == [])
        try await again.put(.text("one more"))
        // Anew, though nobody has removed what had come.
        left.set(3)
        let third = try await open(source, afterStep: { try left.step() })
        await #expect(throws: Countdown.Over.self) { try await third.copy(to: into, move) { _ in } }
        try await again.cancelCopy(into: nil)
        try await again.put(.text("and one"))
        #expect(try await again.copy(to: into, move) { _ in }.total == 25)
        await expect(.illegalTransition) { try await again.cancelCopy(into: into) }
        for store in [again, third, into] { try await store.close() }
        #expect(try await findings(target) == [])
    }

    // MARK: What cannot be

    @Test func whatCannotBeIsRefusedBeforeAnythingIsClosed() async throws {
        let store = try await open(source)
        try await fill(store)
        await expect(.invalidInput) { try await store.copy(to: store, move) { _ in } }
        let other = try await open(target)
        try await other.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        let clash = await expect(.queueExists) { try await store.copy(to: other, move) { _ in } }
        #expect(clash?.message.contains("target.db has a queue called 'mail' of its own") == true)
        try await other.configure(.mail, .delete(force: true))
        try await other.setLimit(LimitName(stored: "shared"), to: 4)
        await expect(.queueExists) { try await store.copy(to: other, move) { _ in } }
        try await store.put(.text("still open"))
        try await other.setLimit(LimitName(stored: "shared"), to: 3)
        _ = try await store.copy(to: other, move) { _ in }
        let third = try await open(folder.file("third.db"))
        let elsewhere = await expect(.storeMoved) { try await store.copy(to: third, move) { _ in } }
        #expect(elsewhere?.message.contains("have moved to target.db") == true)
        await expect(.storeMoved) { try await other.copy(to: store, move) { _ in } }
        for store in [store, other, third] { try await store.close() }
    }
}
