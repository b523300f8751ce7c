import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

@Suite struct OpenTogetherTests {
    @Test func aConnectionThatLookedBeforeAnotherMigratedFindsTheSchema() throws {
        let folder = TemporaryFolder()
        let path = folder.file("queue.db")
        let migrator = SchemaMigrator(path: path)
        let slow = try DatabaseQueue(path: path)
        let fast = try DatabaseQueue(path: path)
        let before = try slow.inDatabase { try SchemaMigrator.version(of: $0) }
        #expect(before == 0)
        let applied = try fast.inDatabase { try migrator.migrate($0) }
        #expect(applied.count == SchemaMigrator.newest)
        let appliedAgain = try slow.inDatabase { try migrator.migrate($0) }
        #expect(appliedAgain == [])
        let after = try slow.inDatabase { try SchemaMigrator.version(of: $0) }
        #expect(after == SchemaMigrator.newest)
    }

    @Test(.timeLimit(.minutes(5)))
    func manyOpenersOfANewFileAtOnceAllFindTheSchema() async throws {
        // On a busy machine eight of them take more than the half minute that a user waits.
        var options = SQLiteStore.Options()
        options.busyMax = .seconds(240)
        for _ in 0..<10 {
            let folder = TemporaryFolder()
            let path = folder.file("queue.db")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { [options] in
                        let store = try await SQLiteStore.open(path: path, options: options)
                        try await store.configure(QueueName("jobs"), .create(QueuePolicy(), ifAbsent: true))
                        try await store.close()
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// A program that looks meanwhile would say that the schema is too old.
    @Test func aNewFileHasAllOfItsSchemaOrNone() throws {
        let folder = TemporaryFolder()
        let path = folder.file("queue.db")
        let (maker, looker) = (try DatabaseQueue(path: path), try DatabaseQueue(path: path))
        let versions = VersionsSeen(looker)
        maker.add(transactionObserver: versions)
        let applied = try maker.inDatabase { try SchemaMigrator(path: path).migrate($0) }
        #expect(applied.count == SchemaMigrator.newest)
        #expect(versions.all == [SchemaMigrator.newest])
    }

    @Test(.timeLimit(.minutes(5)))
    func manyProcessesOpenANewFileAtOnce() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("queue.db")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [path = path as String] in
                        var options = SQLiteStore.Options()
                        options.busyMax = .seconds(240)
                        for _ in 0..<5 {
                            let store = try await SQLiteStore.openWithJobs(path, options: options)
                            try await store.put(.text("it"))
                            try await store.close()
                        }
                    }
                }
            }
        }
        let store = try await SQLiteStore.open(path: path)
        #expect(try await store.depths().ready == 30)
        #expect(try await SQLiteStore.inspectHealth(path: path).findings == [])
        try await store.close()
    }
}

/// The schema's version as another connection sees it after each commit.
private final class VersionsSeen: TransactionObserver {
    private let looker: DatabaseQueue
    private(set) var all: [Int] = []

    init(_ looker: DatabaseQueue) {
        self.looker = looker
    }

    func observes(eventsOfKind _: DatabaseEventKind) -> Bool { false }

    func databaseDidChange(with _: DatabaseEvent) {}

    func databaseDidCommit(_: Database) {
        if let version = try? looker.inDatabase({ try SchemaMigrator.version(of: $0) }) { all.append(version) }
    }

    func databaseDidRollback(_: Database) {}
}
