import PenstockConformance
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// While queues are copied into a store that is in use, nobody but the copy changes anything of them: what came is compared with its
/// source, and by no call can it become something else meanwhile.
@Suite(.timeLimit(.minutes(5))) struct ArrivingQueueTests: CopyFixture {
    let time = ManualTime()
    let folder = TemporaryFolder()

    /// A source whose messages have ended and would be forgotten, with a workflow at its end; and a target.
    private func stores(
        _ meanwhile: @escaping @Sendable (SQLiteStore) async throws -> Void
    ) async throws -> (from: SQLiteStore, into: SQLiteStore) {
        let into = try await open(target)
        try await into.configure(.mail, .create(QueuePolicy(), ifAbsent: true))
        let from = try await open(source) {
            // Once the queues are there, and until they are open.
            if try await into.snapshots.read({ try $0.first(arriving, read: { _ in true }) }) == true {
                try await meanwhile(into)
            }
        }
        try await from.configure(
            .jobs, .create(QueuePolicy(retention: Retention(age: .seconds(10))), ifAbsent: true))
        for _ in 1...3 {
            _ = try await from.enqueue((1...1000).map { _ in .text("x") }, to: .jobs, durability: .processCrash)
        }
        _ = try await from.apply(.cancel, to: .queue(.jobs, states: [.ready]))
        try await from.begin([("a", []), ("b", ["a"])])
        return (from, into)
    }

    @Test func nobodyChangesWhatHasCome() async throws {
        let count = Mutex(0)
        // What had come at one step or another, and was tried.
        let tried = Mutex<Set<String>>([])
        let (from, into) = try await stores { [time] into in
            guard let first = try await into.messages(MessageQuery(queue: .jobs, limit: 1)).first?.sequence else {
                return
            }
            count.withLock { $0 += 1 }
            let selection = Selection.queue(.jobs, states: Set(MessageState.allCases), limit: 5)
            for call in [
                { _ = try await into.prune(PruneRequest(queue: .jobs)) },
                { _ = try await into.apply(.cancel, to: [first]) },
                { _ = try await into.apply(.cancel, to: selection) },
                { _ = try await into.apply(.discard, to: selection) },
                { _ = try await into.moveCursor(CursorName(stored: "c"), of: .jobs, .place(after: nil)) },
                { try await into.configure(.jobs, .delete(force: false)) },
            ] as [() async throws -> Void] {
                let error = await expect(.queueDeleting) { try await call() }
                #expect(error?.message.contains("is being copied here from source.db") == true)
            }
            // A task that waits for a message that has expired looks on: it ends when all is there.
            let expiring = try await into.messages(MessageQuery(queue: .jobs, limit: 5000)).records.last
            if let expiring, expiring.expiresAt != nil {
                tried.withLock { _ = $0.insert("what expires") }
                time.advance(by: .seconds(60))
                #expect(try await into.expectEnd(of: expiring.sequence) == .ready)
            }
            // What waits for an event waits on.
            if let asleep = try await into.messages(MessageQuery(queue: .jobs, states: [.scheduled])).first {
                tried.withLock { _ = $0.insert("a message that waits for an event") }
                await expect(.queueDeleting) {
                    _ = try await into.emit(
                        NewEvent(EventName("go")), to: .message(asleep.sequence), durability: .processCrash)
                }
                let after = try await into.messages(MessageQuery(sequences: [asleep.sequence]))
                #expect(after.map(\.state) == [.scheduled])
            }
            if (try? await into.schedules(ScheduleName("nightly"))) != nil {
                tried.withLock { _ = $0.insert("a schedule") }
                let own = Schedule(queue: .mail, spec: "@daily", message: .text("x"))
                for change in [.pause, .resume, .run, .remove, .put(own, replacing: true)] as [ScheduleChange] {
                    await expect(.queueDeleting) { _ = try await into.schedule(ScheduleName("nightly"), change) }
                }
                for statement in ["UPDATE penstock_schedules SET paused = 1", "DELETE FROM penstock_schedules"] {
                    let shell = try await SQLiteShell(path: target).run(statement)
                    #expect(!shell.succeeded && shell.errors.contains("is being copied here"), "\(shell.errors)")
                }
            }
            if (try? await into.workflows(WorkflowQuery(name: .flow))) != nil {
                tried.withLock { _ = $0.insert("a workflow") }
                await expect(.queueDeleting) { _ = try await into.cancel(.flow) }
                await expect(.queueDeleting) {
                    _ = try await into.emit(
                        NewEvent(EventName("go")), to: .workflow(.flow), durability: .processCrash)
                }
            }
            // What a worker does now and then for all queues.
            time.advance(by: .seconds(3600))
            #expect(try await into.prune(PruneRequest()).messages == 0)
        }
        try await from.schedule(
            ScheduleName("nightly"),
            .put(Schedule(queue: .jobs, spec: "@daily", message: .text("x")), replacing: false))
        _ = try await from.enqueue([.text("asleep", priority: 9)], to: .jobs, durability: .processCrash)
        try await from.work(.suspend(until: time.now + .seconds(30 * 86_400), event: EventName("go")))
        // It is the last one.
        let expiring = NewMessage(payload: [1], expiry: .after(.seconds(30)))
        _ = try await from.enqueue([expiring], to: .jobs, durability: .processCrash)
        let report = try await from.copy(to: into, StoreCopy(source: "source.db", target: "target.db", withLog: true)) {
            _ in
        }
        #expect(count.withLock { $0 } > 2 && report.queues.map(\.total) == [3004])
        #expect(
            tried.withLock { $0 } == ["what expires", "a message that waits for an event", "a schedule", "a workflow"])
        #expect(try await into.prune(PruneRequest(limit: 5000)).messages == 3000)
        try await from.close()
        try await into.close()
        #expect(try await findings(target) == [])
    }

    /// A name that both stores have is found before anything is closed, and one that the target gives meanwhile as it comes.
    @Test(arguments: ["workflow", "schedule"]) func aNameThatIsTakenMeanwhileIsSaid(what: String) async throws {
        let isTaken = Mutex(false)
        let schedule = Schedule(queue: .mail, spec: "@daily", message: .text("x"))
        let (from, into) = try await stores { into in
            if isTaken.withLock({ taken in
                defer { taken = true }; return taken
            }) {
                return
            }
            if what == "workflow" {
                let task = NewTask(TaskName(stored: "other"), queue: .mail, message: .text("x"))
                _ = try await into.start(NewWorkflow(.flow, tasks: [task]), durability: .processCrash)
            } else {
                try await into.schedule(ScheduleName("nightly"), .put(schedule, replacing: false))
            }
        }
        var own = schedule
        own.queue = .jobs
        try await from.schedule(ScheduleName("nightly"), .put(own, replacing: false))
        let error = await expect(.queueExists) { _ = try await from.copy(to: into, move) { _ in } }
        #expect(
            error?.message.contains("a \(what) called '\(what == "workflow" ? "flow" : "nightly")' of its own") == true)
        if what == "workflow" {
            _ = try await into.cancel(.flow)
            _ = try await into.prune(PruneRequest(queue: .mail, retention: Retention(age: .zero)))
        } else {
            try await into.schedule(ScheduleName("nightly"), .remove)
        }
        // As the sentence says.
        _ = try await from.copy(to: into, move) { _ in }
        #expect(try await into.workflows(WorkflowQuery(name: .flow)).first?.counts == [.ready: 1, .pending: 1])
        try await from.close()
        try await into.close()
        #expect(try await findings(target) == [])
    }

    /// A limit comes with the queues that share it, as they open; until then one of that name may be the target's own.
    @Test func aLimitThatIsSetMeanwhileIsSaid() async throws {
        let shared = LimitName(stored: "shared")
        let (from, into) = try await stores { into in
            #expect(try await into.limits().filter { $0.count == 2 } == [])
            try await into.setLimit(shared, to: 3)
        }
        try await from.setLimit(shared, to: 2)
        var policy = QueuePolicy()
        policy.sharedLimit = shared
        try await from.configure(.jobs, .set(policy))
        let error = await expect(.queueExists) { _ = try await from.copy(to: into, move) { _ in } }
        #expect(error?.message.contains("a limit called 'shared' of its own, of 3 and not of 2") == true)
        #expect(try await into.status(of: .jobs).queues.first?.isDeleting == true)
        // It was said in time: the source can still be opened without the target.
        #expect(try await from.status(of: nil).move?.phase == .copying)
        try await from.close()
        // As the sentence says.
        try await into.setLimit(shared, to: 2)
        let again = try await open(source)
        _ = try await again.copy(to: into, move) { _ in }
        #expect(try await into.limits().map(\.queues) == [[.jobs]])
        try await again.close()
        try await into.close()
        #expect(try await findings(target) == [])
    }

    /// Rows that name no queue would come for its messages all the same.
    @Test func aCopyWhoseQueueIsDeletedHasNoEnd() async throws {
        let isDeleted = Mutex(false)
        let (from, into) = try await stores { into in
            if isDeleted.withLock({ deleted in
                defer { deleted = true }; return deleted
            }) {
                return
            }
            try await into.configure(.jobs, .delete(force: true))
        }
        // What has nobody to bring it is no copy any more, and says so.
        for _ in 1...2 { await expect(.unknownQueue) { _ = try await from.copy(to: into, move) { _ in } } }
        try await from.cancelCopy(into: into)
        #expect(try await into.status(of: nil).queues.map(\.name) == [.mail])
        #expect(try await from.copy(to: into, move) { _ in }.queues.map(\.total) == [2])
        try await from.close()
        try await into.close()
        #expect(try await findings(target) == [])
    }
}

private let arriving = Query("SELECT 1 FROM penstock_arriving LIMIT 1")
