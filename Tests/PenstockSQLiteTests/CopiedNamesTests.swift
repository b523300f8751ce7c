import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What two stores call alike, and what a copy makes of it.
@Suite(.timeLimit(.minutes(5))) struct CopiedNamesTests: CopyFixture {
    let time = ManualTime()
    let folder = TemporaryFolder()

    /// Starts a workflow of one task, or of two.
    private func begin(_ name: String?, in store: SQLiteStore, queue: QueueName, tasks: Int = 1) async throws {
        let tasks = (1...tasks).map {
            NewTask(TaskName(stored: "\($0)"), queue: queue, message: .text("\($0)"))
        }
        let workflow = NewWorkflow(name.map { WorkflowName(stored: $0) }, tasks: tasks)
        _ = try await store.start(workflow, durability: .processCrash)
    }

    private func names(_ store: SQLiteStore) async throws -> [Int64: String] {
        let found = try await store.workflows(WorkflowQuery()).map { ($0.id, $0.name.text) }
        return Dictionary(uniqueKeysWithValues: found)
    }

    /// All stores number from 1, so two that are young give the same names to workflows that were given none.
    @Test func workflowsWithoutNamesAreNamedAnewWhereTheirNamesAreTaken() async throws {
        let (from, into) = (try await open(source), try await open(target))
        try await from.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        try await into.configure(.mail, .create(QueuePolicy(), ifAbsent: true))
        try await begin(nil, in: into, queue: .mail, tasks: 2)
        // What the first one would be called, so that it needs another name.
        try await begin("workflow-5", in: into, queue: .mail, tasks: 2)
        // Its tasks come in two batches, and it with each of them.
        try await begin(nil, in: from, queue: .jobs, tasks: 900)
        try await begin(nil, in: from, queue: .jobs)
        try await begin("chosen", in: from, queue: .jobs)
        #expect(try await names(from) == [1: "workflow-1", 901: "workflow-901", 902: "chosen"])
        #expect(try await names(into) == [1: "workflow-1", 3: "workflow-5"])

        try await from.refuseCopy(into: into, move)
        #expect(try await from.copy(to: into, move) { _ in }.sequenceOffset == 4)
        #expect(
            try await names(into) == [
                1: "workflow-1", 3: "workflow-5", 5: "workflow-5-2", 905: "workflow-901", 906: "chosen",
            ])
        let tasks = try await into.tasks(TaskQuery(WorkflowName(stored: "workflow-5-2")))
        #expect(tasks.count == 900 && tasks.first?.sequence.rawValue == 5)
        for store in [from, into] { try await store.close() }
        #expect(try await findings(target) == [])
    }

    /// What one of them is called anew may be what another one was called by choice, which comes in a later batch.
    @Test func aNameThatWasChosenIsLeftToTheOneForWhichItWas() async throws {
        let (from, into) = (try await open(source), try await open(target))
        try await from.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        try await into.configure(.mail, .create(QueuePolicy(), ifAbsent: true))
        try await begin(nil, in: into, queue: .mail, tasks: 900)
        // The first batch has its tasks, and no more.
        try await begin(nil, in: from, queue: .jobs, tasks: 500)
        try await begin("workflow-901", in: from, queue: .jobs)

        try await from.refuseCopy(into: into, move)
        #expect(try await from.copy(to: into, move) { _ in }.sequenceOffset == 900)
        #expect(
            try await names(into) == [1: "workflow-1", 901: "workflow-901-2", 1401: "workflow-901"])
        let tasks = try await into.tasks(TaskQuery(WorkflowName(stored: "workflow-901-2")))
        #expect(tasks.first?.sequence.rawValue == 901)
        for store in [from, into] { try await store.close() }
        #expect(try await findings(target) == [])
    }

    @Test(arguments: [
        ("workflow-7", true), ("workflow-7-2", true), ("workflow-7-19", true), ("workflow-71", false),
        ("workflow-7-", false), ("workflow-7-b", false), ("workflow-4", true), ("workflow-8", false),
        ("workflow", false), ("order", false),
    ]) func aNameThatWasMadeIsKnown(_ name: String, isMade: Bool) {
        #expect(WorkflowName(stored: name).isMade(for: SequenceNumber(7)) == isMade)
    }

    /// The forecast refuses what the copy does, and in its words.
    @Test func whatACopyRefusesIsForeseen() async throws {
        let (from, into) = (try await open(source), try await open(target))
        func expectClash(_ words: String) async throws {
            let foreseen = await expect(.queueExists) { try await from.refuseCopy(into: into, move) }
            let refused = await expect(.queueExists) { try await from.copy(to: into, move) { _ in } }
            #expect(foreseen?.message == refused?.message)
            #expect(refused?.message.contains(words) == true, "\(refused?.message ?? "")")
        }
        for (store, queue) in [(from, QueueName.jobs), (into, QueueName.mail)] {
            try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        }
        try await from.setLimit(LimitName(stored: "db"), to: 3)
        try await into.setLimit(LimitName(stored: "db"), to: 4)
        try await expectClash("has a limit called 'db' of its own, of 4 and not of 3")
        try await into.setLimit(LimitName(stored: "db"), to: 3)

        let nightly = ScheduleName(stored: "nightly")
        for (store, queue) in [(from, QueueName.jobs), (into, QueueName.mail)] {
            let schedule = Schedule(queue: queue, spec: "@daily", message: .text("x"))
            try await store.schedule(nightly, .put(schedule, replacing: false))
        }
        try await expectClash(
            "has a schedule called 'nightly' of its own; copy into a store without one, or remove it there")
        try await into.schedule(nightly, .remove)

        try await begin("order", in: from, queue: .jobs)
        try await begin("order", in: into, queue: .mail)
        try await expectClash(
            "has a workflow called 'order' of its own; copy into a store without one, or let that one end")
        // As the sentence says.
        let task = try await into.take(from: .mail)
        _ = try await into.settle([Settlement(task[0].lease, .done)])
        _ = try await into.prune(PruneRequest(retention: Retention(age: nil, count: 0)))
        try await from.refuseCopy(into: into, move)
        #expect(try await from.copy(to: into, move) { _ in }.total == 1)
        for store in [from, into] { try await store.close() }
    }

    /// What has come of a copy that was interrupted is in the way of nothing but another store's copy.
    @Test func whatHasComeOfItIsInItsWayNeitherThenNorAfterwards() async throws {
        let left = Countdown(4)
        let (from, into) = (try await open(source, afterStep: { try left.step() }), try await open(target))
        let other = try await open(folder.file("other.db"))
        for store in [from, other] {
            try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
            try await begin("order", in: store, queue: .jobs)
        }
        await #expect(throws: Countdown.Over.self) { _ = try await from.copy(to: into, move) { _ in } }
        #expect(try await names(into) == [1: "order"])
        try await from.refuseCopy(into: into, move)
        let clash = await expect(.queueExists) { try await other.refuseCopy(into: into, move) }
        #expect(clash?.message.contains("has a queue called 'jobs' of its own") == true)
        left.set(.max)
        #expect(try await from.copy(to: into, move) { _ in }.total == 1)
        for store in [from, into, other] { try await store.close() }
    }

    /// To look alike is not to be the same: the stores compare names by their bytes.
    @Test func namesThatOnlyLookAlikeAreTwo() async throws {
        let (from, into) = (try await open(source), try await open(target))
        let (composed, decomposed) = ("n\u{e9}", "ne\u{301}")
        for (store, name, count) in [(from, composed, 3), (into, decomposed, 4)] {
            let queue = QueueName(stored: name)
            try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
            try await store.setLimit(LimitName(stored: name), to: count)
            let schedule = Schedule(queue: queue, spec: "@daily", message: .text("x"))
            try await store.schedule(ScheduleName(stored: name), .put(schedule, replacing: false))
            try await begin(name, in: store, queue: queue)
        }
        #expect(try await from.copy(to: into, move) { _ in }.total == 1)
        #expect(try await into.status(of: nil).queues.count == 2)
        // Nor is the other one in the way of giving the move up.
        try await into.configure(QueueName(stored: composed), .delete(force: true))
        #expect(try await from.cancelCopy(into: into) == "target.db")
        for store in [from, into] { try await store.close() }
    }
}
