import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// The column that says since when a message is ready.
@Suite(.timeLimit(.minutes(5))) struct ReadySinceTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    @Test func aMessageThatIsAcceptedReadyHasNone() async throws {
        let store = try await SQLiteStore.open(path: path)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        try await store.put(.text("one"))
        try await store.put(.text("keyed", key: "k"))
        _ = try await store.enqueue((1...40).map { .text("\($0)") }, to: .jobs, durability: .processCrash)
        let shell = SQLiteShell(path: path)
        try await shell.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'by hand')")
        let count = try await shell.run("SELECT count(*), count(ready_since) FROM penstock_ready")
        #expect(count.output == "43|0\n")
        try await store.close()
    }

    @Test func onePermittedByAPlainInsertHasOne() async throws {
        let store = try await SQLiteStore.open(path: path)
        var policy = QueuePolicy.bounded(2, .dropOldest)
        policy.groups = .limit(1)
        try await store.configure(.jobs, .create(policy, ifAbsent: false))
        for text in ["a", "b"] { try await store.put(.text(text, group: "g")) }
        let shell = SQLiteShell(path: path)
        let insert = "INSERT INTO penstock_messages (queue, payload, group_key) VALUES ('jobs', 'c', 'h')"
        #expect(try await shell.run(insert).succeeded)
        let ready = try await shell.run(
            "SELECT sequence, ready_since IS NOT NULL FROM penstock_ready ORDER BY sequence")
        #expect(ready.output == "2|1\n3|0\n", "The second one has the permit of the first, which was dropped.")
        try await store.close()
    }

    @Test func whatARestoreReleasesHasOne() async throws {
        let backup = folder.file("backup.db")
        let store = try await SQLiteStore.open(path: path)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        try await store.put(.text("one"))
        _ = try await store.take(1)
        _ = try await SQLiteShell(path: path).run("VACUUM INTO '\(backup)'")
        try await store.close()
        let before = SystemTime().now
        _ = try await SQLiteStore.restore(from: backup, to: folder.file("restored.db"))
        let restored = try await SQLiteStore.open(path: folder.file("restored.db"))
        let since = try #require(try await restored.status(of: .jobs).queues.first?.oldestReady)
        // SQLite's clock counts milliseconds.
        #expect(since >= before - .milliseconds(1) && since <= SystemTime().now)
        try await restored.close()
    }

    /// However many have come back before it.
    @Test func theFirstThatDidNotComeBackIsFound() async throws {
        let store = try await SQLiteStore.open(path: path)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        _ = try await store.enqueue((1...999).map { .text("\($0)") }, to: .jobs, durability: .processCrash)
        let claimed = try await store.take(999)
        try await store.put(.text("accepted"))
        let accepted = try #require(try await store.status(of: .jobs).queues.first?.oldestReady)
        _ = try await store.settle(claimed.map { Settlement($0.lease, .release) })
        #expect(try await store.status(of: .jobs).queues.first?.oldestReady == accepted)
        try await store.close()
    }
}
