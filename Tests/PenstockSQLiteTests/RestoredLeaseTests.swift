import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A backup in which workers had messages, or were asked to end: what is theirs, and the store's that they worked for, is not the
/// restored store's.
@Suite(.timeLimit(.minutes(5))) struct RestoredLeaseTests {
    private let harness = SQLiteHarness()
    private var backup: String { harness.folder.file("backup.db") }
    private var target: String { harness.folder.file("restored.db") }

    private func backUp(_ store: SQLiteStore) async throws {
        try await ForeignProgram(harness.path).run("VACUUM INTO '\(backup)'")
        try await store.close()
    }

    private func openRestored(_ path: String) async throws -> SQLiteStore {
        try await SQLiteStore.open(path: path, options: .init(time: harness.time))
    }

    /// A receipt handle of one store, and the key of a dead letter that was brought in it, say nothing in another one.
    @Test func eachRestoredStoreIsAnotherOne() async throws {
        let store = try await harness.openWithJobs()
        let id = try await store.storeID()
        try await backUp(store)
        var ids = [id]
        for name in ["restored.db", "restored-2.db"] {
            let path = harness.folder.file(name)
            _ = try await SQLiteStore.restore(from: backup, to: path)
            let restored = try await openRestored(path)
            ids.append(try await restored.storeID())
            try await restored.close()
        }
        #expect(!ids.contains(nil))
        #expect(Set(ids).count == 3, "\(ids)")
    }

    /// Its message was at work, which a pause does not end; in the restored store it is to start anew.
    @Test func aGroupThatIsPausedStartsNothing() async throws {
        let store = try await harness.openWithJobs(QueuePolicy(groups: .fifo()))
        for text in ["a1", "a2"] { try await store.put(.text(text, group: "a")) }
        #expect(try await store.take(9).map(\.lease.sequence.rawValue) == [1])
        try await store.configure(.jobs, .pauseGroup("a"))
        #expect(try await store.take(9).isEmpty)
        #expect(try await ForeignProgram(harness.path).number("SELECT count(*) FROM penstock_regroup") == 0)
        try await backUp(store)

        #expect(try await SQLiteStore.restore(from: backup, to: target).released == 1)
        #expect(try await harness.findings(of: target) == [])
        let restored = try await openRestored(target)
        #expect(try await restored.take(9).isEmpty)
        try await restored.configure(.jobs, .resumeGroup("a"))
        for number in [1, 2] as [Int64] {
            let messages = try await restored.take(9)
            #expect(messages.map(\.lease.sequence.rawValue) == [number])
            _ = try await restored.settle(messages.map { Settlement($0.lease, .done) })
        }
        try await restored.close()
        #expect(try await harness.findings(of: target) == [])
    }

    @Test func nothingIsLeftOfWorkersAndOfWhatTheySaid() async throws {
        let store = try await harness.openWithJobs()
        try await store.put(.text("far"))
        let claim = try await store.claim(
            ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30), remoteWorker: WorkerName("far")))
        let lease = try #require(claim.messages.first).lease
        let progress = MessageProgress(0.5, "half")
        #expect(try await store.extend([LeaseExtension(lease, progress: progress)]) == [.held])
        try await backUp(store)
        let program = try ForeignProgram(backup)
        try await program.run(
            """
            INSERT INTO penstock_answer (slot, ticket, receipts) VALUES (1, 1, x'00') ON CONFLICT DO NOTHING;
            INSERT INTO penstock_cancel (sequence, token, requested_at, time) VALUES (1, \(lease.token.rawValue), 0, 0);
            """)
        let tables = ["lease", "cancel", "progress", "worker", "remote_worker", "answer"].map { "penstock_\($0)" }
        for table in tables {
            #expect(try await program.number("SELECT count(*) FROM \(table)") > 0, "\(table)")
        }
        try program.close()

        #expect(try await SQLiteStore.restore(from: backup, to: target).released == 1)
        let made = try ForeignProgram(target)
        for table in tables { #expect(try await made.number("SELECT count(*) FROM \(table)") == 0, "\(table)") }
        try made.close()
        let restored = try await openRestored(target)
        let message = try #require(try await restored.take().first)
        #expect(message.attempt == 1)
        #expect(try await restored.extend([LeaseExtension(lease, by: .seconds(30))]) == [.lost])
        try await restored.close()
    }

    /// What a worker was asked to end was not to be worked again: it is cancelled, and what waits for it is told.
    @Test func whatWasToBeCancelledIs() async throws {
        let store = try await harness.openWithJobs()
        let flow = try await store.start(
            NewWorkflow(
                tasks: [
                    NewTask(TaskName("a"), queue: .jobs, message: .text("a")),
                    NewTask(
                        TaskName("b"), queue: .jobs, message: .text("b"), dependencies: [Dependency(on: TaskName("a"))]),
                ]), durability: .processCrash)
        try await store.put(.text("kept", key: "kept"))
        try await store.put(.text("keyed", key: "key"))
        #expect(try await store.take(3).count == 3)
        #expect(try await store.apply(.requestCancel(), to: [flow.receipts[0].sequence, SequenceNumber(4)]) == 2)
        try await backUp(store)

        #expect(try await SQLiteStore.restore(from: backup, to: target).released == 1)
        #expect(try await harness.findings(of: target) == [])
        let restored = try await openRestored(target)
        _ = try await restored.reclaim()
        let records = try await restored.messages(MessageQuery())
        #expect(records.map(\.state) == [.cancelled, .cancelled, .ready, .cancelled])
        #expect(records.map(\.reason) == [.requested, .parentFailed, nil, .requested])
        #expect(try await !restored.put(.text("again", key: "key")).skipped)
        #expect(try await restored.put(.text("again", key: "kept")).skipped)
        try await restored.close()
        #expect(try await harness.findings(of: target) == [])
    }
}
