import GRDB
import PenstockConformance
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A store whose queues have moved says so to those who look, and not only to those who write.
@Suite(.timeLimit(.minutes(5))) struct MovedStoreTests {
    private let time = ManualTime()
    private let folder = TemporaryFolder()

    private func open(_ name: String) async throws -> SQLiteStore {
        try await SQLiteStore.open(path: folder.file(name), options: SQLiteStore.Options(time: time))
    }

    private func findings(_ name: String) async throws -> [HealthFinding] {
        try await SQLiteStore.inspectHealth(path: folder.file(name), time: time).findings.filter {
            $0.kind == .storeMoved
        }
    }

    @Test func whoeverLooksIsTold() async throws {
        let (old, new) = (try await open("old.db"), try await open("new.db"))
        try await old.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        try await old.put(.text("x"))
        let reader = try await SQLiteReader.open(path: folder.file("old.db"), time: time)
        let lookers: [any MessageStore] = [old, reader]
        for looker in lookers { #expect(try await looker.storeMove() == nil) }

        _ = try await old.copy(to: new, StoreCopy(source: "old.db", target: "new.db")) { _ in }
        let told = StoreMove(phase: .moved, source: "old.db", target: "new.db")
        for looker in lookers {
            #expect(try await looker.status(of: nil).move == told)
            #expect(try await looker.status(of: .jobs).move == told)
            #expect(try await looker.storeMove() == told)
        }
        let finding = try #require(try await findings("old.db").first)
        #expect(finding.severity == .warning)
        #expect(finding.message.hasSuffix("open this one again with `penstock copy --cancel --from old.db`."))
        #expect(try await new.storeMove() == nil)
        #expect(try await findings("new.db").isEmpty)

        // A file that is made of a backup of it is opened again by its own name.
        _ = try await SQLiteStore.backup(of: folder.file("old.db"), to: folder.file("backup.db"), replacing: false)
        _ = try await SQLiteStore.restore(from: folder.file("backup.db"), to: folder.file("again.db"))
        let again = try #require(try await findings("again.db").first)
        #expect(again.message.hasSuffix("`penstock copy --cancel --from \(folder.file("again.db"))`."))

        // Another store knows nothing of it, which does not say that nothing has come to the right one.
        let other = try await open("other.db")
        await expect(.illegalTransition) { try await old.cancelCopy(into: other) }
        await expect(.illegalTransition) { try await old.cancelCopy(into: new) }
        #expect(try await old.storeMove() == told)
        try await old.cancelCopy(into: nil, force: true)
        for looker in lookers { #expect(try await looker.status(of: nil).move == nil) }
        #expect(try await findings("old.db").isEmpty)
        for store in [old, new, other] { try await store.close() }
        try await reader.close()
    }

    /// Calls that go together are refused as one alone is: nobody works there what they would bring.
    @Test(arguments: ["draining", "copying", "moved"])
    func callsThatGoTogetherAreRefused(phase: String) async throws {
        let store = try await open("old.db")
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        let database = try DatabaseQueue(path: folder.file("old.db"))
        try await database.write { try $0.execute(sql: "UPDATE penstock_state SET moving = '\(phase)'") }
        let held = try await HeldWriter(store, inTransaction: false)
        let calls = ["a", "b"].map { text in Task { try await store.put(.text(text)) } }
        try await held.waitForCalls(2)
        try await held.letGo()
        for call in calls { await expect(.storeMoved) { try await call.value } }
        #expect(try await store.texts().isEmpty)
        #expect(try await store.depths().ready == 0)
        try database.close()
        try await store.close()
    }
}
