import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A damaged file: an error that says so, or the truth, and never a crash or a wrong message.
@Suite(.timeLimit(.minutes(5))) struct DamageTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }
    private static let count = 300

    /// What message `number` says: known, so that anything else is noticed.
    private static func text(_ number: Int) -> String {
        "message \(number) " + String(repeating: "\(number % 10)", count: 200)
    }

    /// A closed file of some fifty pages.
    private func makeFile() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        _ = try await store.enqueue(
            (1...Self.count).map { .text(Self.text($0), key: "key \($0)") }, to: .jobs, durability: .processCrash)
        for message in try await store.take(Self.count / 3) {
            let isEven = message.lease.sequence.rawValue % 2 == 0
            _ = try await store.settle([Settlement(message.lease, isEven ? .done : .dead(error: "e"))])
        }
        try await store.close()
    }

    /// Does everything that a store can, and checks each answer that comes.
    private func useAll(_ store: SQLiteStore, sourceLocation: SourceLocation = #_sourceLocation) async {
        func attempt(_ name: String, _ body: () async throws -> Void) async {
            do {
                try await body()
            } catch let error as PenstockError {
                let isSaid = [.corrupt, .storage, .unknownQueue, .illegalTransition].contains(error.code)
                #expect(isSaid, "\(name): \(error)", sourceLocation: sourceLocation)
            } catch {
                Issue.record(error, "\(name)", sourceLocation: sourceLocation)
            }
        }
        func check(_ sequence: SequenceNumber, _ payload: [UInt8]) {
            let number = Int(sequence.rawValue)
            let isTrue = number > Self.count || String(decoding: payload, as: UTF8.self) == Self.text(number)
            #expect(isTrue, "Message \(number) has become another.", sourceLocation: sourceLocation)
        }
        await attempt("read") {
            for record in try await store.messages(MessageQuery(withPayload: true, withAttempts: true)) {
                check(record.sequence, record.payload ?? [])
            }
        }
        await attempt("claim") {
            for message in try await store.take(50) {
                check(message.lease.sequence, message.payload)
                await attempt("settle") {
                    _ = try await store.settle([Settlement(message.lease, .retry(error: "e", after: .zero))])
                }
            }
        }
        await attempt("enqueue") { try await store.put(.text("new", key: "new")) }
        await attempt("status") { _ = try await store.status(of: nil) }
        await attempt("reclaim") { _ = try await store.reclaim() }
        await attempt("apply") { _ = try await store.apply(.redrive, to: .queue(.jobs, states: [.dead])) }
        await attempt("prune") { _ = try await store.prune(PruneRequest(retention: Retention(age: .zero))) }
        await attempt("configure") { try await store.configure(.jobs, .set(.bounded(5, .dropOldest))) }
        await attempt("delete") { try await store.configure(.jobs, .delete(force: true)) }
    }

    /// Overwrites `count` bytes from `offset` on.
    private func overwrite(_ offset: Int, _ count: Int, with byte: UInt8) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(repeating: byte, count: count))
        try file.close()
    }

    @Test func aPageOfGarbageAnywhereIsNoCrashAndNoLie() async throws {
        try await makeFile()
        let sound = try bytes(of: path)
        let pages = sound.count / 4096
        #expect(pages > 30)
        var complaints = 0
        for page in 1..<pages {
            try sound.write(to: URL(fileURLWithPath: path))
            try overwrite(page * 4096, 4096, with: page % 2 == 0 ? 0xa5 : 0)
            do {
                let store = try await SQLiteStore.open(path: path)
                await useAll(store)
                do { try await store.close() } catch { #expect(error is PenstockError) }
            } catch let error as PenstockError {
                #expect(error.code == .corrupt, "Page \(page + 1): \(error)")
            }
            let report = try await SQLiteStore.inspectHealth(path: path)
            if !report.isHealthy { complaints += 1 }
            for companion in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + companion) }
        }
        #expect(complaints > pages / 2, "An inspection finds damage.")
    }

    @Test(arguments: [1, 3, 10]) func aTruncatedFileIsNoCrashAndNoLie(_ parts: Int) async throws {
        try await makeFile()
        let sound = try bytes(of: path)
        try sound.prefix(sound.count * parts / 11 + 100).write(to: URL(fileURLWithPath: path))
        do {
            let store = try await SQLiteStore.open(path: path)
            await useAll(store)
            try? await store.close()
        } catch let error as PenstockError {
            #expect(error.code == .corrupt, "\(error)")
        }
    }

    @Test func aHeaderOfGarbageIsSaid() async throws {
        try await makeFile()
        try overwrite(0, 100, with: 0x20)
        await expect(.notADatabase) { try await SQLiteStore.open(path: path) }
    }

    /// Where nothing says that the file has lost its name, a claim that finds nothing asks.
    @Test func aClaimFindsOutThatTheFileIsNoLongerThere() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let request = ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(9))
        for _ in 1...2 { #expect(try await store.claim(request).messages.isEmpty) }
        try FileManager.default.removeItem(atPath: path)
        await expect(.fileReplaced) { try await store.claim(request) }
    }

    /// A file that has lost its name still takes what is written, and it is gone with the last process.
    @Test(arguments: ["removed", "replaced"]) func aFileThatIsNoLongerThereTakesNothing(_ how: String) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("kept"))
        if how == "removed" {
            try FileManager.default.removeItem(atPath: path)
        } else {
            let other = try await SQLiteStore.openWithJobs(folder.file("copy.db"))
            try await other.put(.text("restored"))
            try await other.close()
            #expect(rename(folder.file("copy.db"), path) == 0)
        }
        let error = await expect(.fileReplaced) { try await store.put(.text("lost")) }
        #expect(error?.message.contains("removed or replaced") == true)
        await expect(.fileReplaced) { try await store.put(.text("lost"), durability: .powerLoss) }
        try? await store.close()
    }

    /// A message in line that the log does not have costs itself, and nothing else of the transaction.
    @Test func damageInOneQueueStaysThere() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        for _ in 1...3 { try await store.put(.text("job")) }
        try await store.put(.text("letter"), to: .mail)
        // The second message in line is one that the log does not know.
        try await ForeignProgram(path).run("DELETE FROM penstock_log WHERE sequence = 2")

        let letters = try await withThrowingTaskGroup(of: [ClaimedMessage].self) { group in
            for _ in 1...20 { group.addTask { try await store.take(1, from: .mail) } }
            group.addTask {
                let jobs = try await store.take(3)
                #expect(jobs.map(\.lease.sequence.rawValue) == [1, 3])
                return []
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(letters.count == 1)
        let program = try ForeignProgram(path)
        #expect(try await program.rows("SELECT sequence FROM penstock_ready") == [])
        #expect(try await program.rows("SELECT sequence, source FROM penstock_quarantined") == ["2|penstock_ready"])
        var depths = Depths()
        depths.leased = 2
        #expect(try await store.depths() == depths)
        try await store.close()
    }
}
