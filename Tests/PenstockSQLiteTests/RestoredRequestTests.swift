import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A backup in which workers were asked to end.
@Suite(.timeLimit(.minutes(5))) struct RestoredRequestTests {
    private let harness = SQLiteHarness()
    private var backup: String { harness.folder.file("backup.db") }
    private var target: String { harness.folder.file("restored.db") }

    private func findings() async throws -> [HealthFinding] {
        try await SQLiteStore.inspectHealth(path: target, time: harness.time).findings.filter { $0.severity != .note }
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
        try await ForeignProgram(harness.path).run("VACUUM INTO '\(backup)'")
        try await store.close()

        #expect(try await SQLiteStore.restore(from: backup, to: target).released == 1)
        #expect(try await findings() == [])
        let restored = try await SQLiteStore.open(path: target, options: .init(time: harness.time))
        _ = try await restored.reclaim()
        let records = try await restored.messages(MessageQuery())
        #expect(records.map(\.state) == [.cancelled, .cancelled, .ready, .cancelled])
        #expect(records.map(\.reason) == [.requested, .parentFailed, nil, .requested])
        #expect(try await !restored.put(.text("again", key: "key")).skipped)
        #expect(try await restored.put(.text("again", key: "kept")).skipped)
        try await restored.close()
        #expect(try await findings() == [])
    }
}
