import GRDB
import PenstockCore
import Testing

@testable import PenstockSQLite

/// When a commit waits for the disk.
@Suite(.timeLimit(.minutes(5))) struct DurabilityTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("queue.db") }

    init() throws {
        folder = try TemporaryFolder()
    }

    /// SQLite's setting at the last commit: 1 is NORMAL, 2 is FULL.
    private func level(_ store: SQLiteStore) async throws -> Int? {
        try await store.access.pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
    }

    @Test func eachCallHasTheDurabilityThatItAskedFor() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        #expect(try await store.put(.text("a"), durability: .powerLoss).durability == .powerLoss)
        #expect(try await level(store) == 2)
        #expect(try await store.put(.text("b"), durability: .processCrash).durability == .processCrash)
        #expect(try await level(store) == 1)
        try await store.put(.text("c"), durability: .powerLoss)
        let messages = try await store.take(2)
        #expect(try await level(store) == 1, "A claim that is lost means delivering again.")
        try await store.configure(.jobs, .pause)
        #expect(try await level(store) == 2)
        _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
        #expect(try await level(store) == 1)
        try await store.close()
    }

    @Test func oneCallOfAGroupThatWaitsMakesTheGroupWait() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let held = try await HeldWriter(store)
        async let first: Receipt = store.put(.text("a"), durability: .processCrash)
        async let second: Receipt = store.put(.text("b"), durability: .powerLoss)
        async let third: Receipt = store.put(.text("c"), durability: .processCrash)
        await held.waitForCalls(3)
        try await held.letGo()
        _ = try await (first, second, third)
        #expect(try await level(store) == 2)
        try await store.close()
    }

    /// The message that is there may never have been flushed. A transaction that writes nothing flushes nothing.
    @Test func aSkippedMessageIsAsDurableAsItsReceiptSays() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let program = try ForeignProgram(path)
        try await store.put(.text("it", key: "k"), durability: .processCrash)
        let before = try await program.number("SELECT flush_count FROM penstock_state")

        #expect(try await store.put(.text("again", key: "k"), durability: .processCrash).skipped)
        #expect(try await program.number("SELECT flush_count FROM penstock_state") == before)

        let version = try await program.number("PRAGMA data_version")
        let receipt = try await store.put(.text("again", key: "k"), durability: .powerLoss)
        #expect(receipt.skipped)
        #expect(receipt.durability == .powerLoss)
        #expect(try await level(store) == 2)
        #expect(try await program.number("PRAGMA data_version") != version, "Something was written, and so flushed.")
        try await store.close()
    }
}
