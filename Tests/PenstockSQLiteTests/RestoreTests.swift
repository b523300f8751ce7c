import Foundation
import PenstockCore
import PenstockMigrations
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A store that is made of a backup goes on where the backup stood, gives no number twice, and replaces nothing.
@Suite(.timeLimit(.minutes(5))) struct RestoreTests {
    private let harness = SQLiteHarness()
    private var folder: TemporaryFolder { harness.folder }
    private var backup: String { folder.file("backup.db") }
    private var target: String { folder.file("restored.db") }

    /// A store with messages in each place, and a backup of it: 1 done, 2 dead, 3 leased at its second attempt, 4 ready, 5
    /// scheduled, and a cursor at the end.
    private func makeBackup() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(retry: RetryPolicy(base: .zero)), ifAbsent: true))
        for number in 1...3 { try await store.put(.text("\(number)", key: "key \(number)")) }
        let messages = try await store.take(3)
        _ = try await store.settle([
            Settlement(messages[0].lease, .done), Settlement(messages[1].lease, .dead(error: "e")),
            Settlement(messages[2].lease, .retry(error: "not yet")),
        ])
        try await store.put(.text("4", key: "key 4"))
        try await store.put(.text("5", due: .after(.seconds(99))))
        #expect(try await store.take(1).map(\.lease.sequence.rawValue) == [3])
        _ = try await store.moveCursor(CursorName(stored: "reader"), of: .jobs, .place(after: nil, note: nil))
        try await ForeignProgram(harness.path).run("VACUUM INTO '\(backup)'")
        try await store.close()
    }

    private func openRestored() async throws -> SQLiteStore {
        try await SQLiteStore.open(path: target, options: .init(time: harness.time))
    }

    /// What is in the folder, but for the backup and the first store.
    private func made() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { !$0.hasPrefix("backup.db") && !$0.hasPrefix("queue.db") }.sorted()
    }

    @Test func theStoreGoesOnWhereTheBackupStood() async throws {
        try await makeBackup()
        let before = try bytes(of: backup)
        let report = try await SQLiteStore.restore(from: backup, to: target)
        #expect(report == RestoreReport(path: target, backup: backup, nextSequence: .init(1_000_000_006), released: 1))
        #expect(try made() == ["restored.db"])
        #expect(try mode(of: target) == 0o600)
        #expect(try bytes(of: backup) == before)
        #expect(try await harness.findings(of: target) == [])

        let store = try await openRestored()
        let records = try await store.messages(MessageQuery(limit: 99, withAttempts: true))
        #expect(records.map(\.state) == [.done, .dead, .ready, .ready, .scheduled])
        #expect(try await store.status(of: nil).workers == [])
        let depths = try await store.depths()
        #expect(depths.scheduled == 1 && depths.ready == 2 && depths.leased == 0 && depths.dead == 1)
        #expect(depths.kept == 1)
        // The attempt that was under way does not count: this is the second one again.
        let messages = try await store.take(9)
        #expect(messages.map(\.lease.sequence.rawValue) == [3, 4])
        #expect(messages.map(\.attempt) == [2, 1])
        #expect(try await store.put(.text("new")).sequence == report.nextSequence)
        #expect(try await store.put(.text("again", key: "key 4")).skipped, "The key is still held.")
        try await store.close()
        #expect(try await harness.findings(of: target) == [])
    }

    /// What a cursor means is behind the jump as it was before: everything up to it was read, everything after it is to come.
    @Test func aReaderGoesOnAfterWhatItHasRead() async throws {
        try await makeBackup()
        _ = try await SQLiteStore.restore(from: backup, to: target)
        let store = try await openRestored()
        try await store.put(.text("new"))
        let name = CursorName(stored: "reader")
        let page = try await store.log(LogQuery(queue: .jobs, .last(9), limit: 9, cursor: name))
        let cursor = try #require(page.cursor)
        #expect(cursor.sequence.rawValue == 5)
        let next = try await store.log(LogQuery(queue: .jobs, .after(cursor.sequence), limit: 9))
        #expect(next.records.map { String(decoding: $0.payload, as: UTF8.self) } == ["new"])
        let moved = try await store.moveCursor(name, of: .jobs, .advance(to: next.end, missed: 0))
        #expect(moved?.sequence.rawValue == 1_000_000_006)
        #expect(try await harness.findings(of: target) == [])
        try await store.close()
    }

    /// A second restore of the same backup, and a backup of the restored store, are each ahead of what they are of.
    @Test func aRestoredStoreCanBeRestored() async throws {
        try await makeBackup()
        _ = try await SQLiteStore.restore(from: backup, to: target)
        let second = try await SQLiteStore.restore(from: target, to: folder.file("restored-2.db"))
        #expect(second.nextSequence.rawValue == 2_000_000_006)
        #expect(second.released == 0)
    }

    /// The last commits of a store that nobody has closed lie in its log; a copy of both has them.
    @Test func aCopyWithItsLogIsRestoredWhole() async throws {
        let store = try await harness.openWithJobs()
        for number in 1...50 { try await store.put(.text("\(number)")) }
        for end in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: harness.path + end, toPath: backup + end)
        }
        try await store.close()
        #expect(try await SQLiteStore.restore(from: backup, to: target).nextSequence.rawValue == 1_000_000_051)
        #expect(try made() == ["restored.db"])
        #expect(try await harness.findings(of: target) == [])
    }

    /// A backup of an older release, as it was made before the tables of readers were.
    @Test func anOlderSchemaIsBroughtUpToDate() async throws {
        let shell = SQLiteShell(path: backup)
        for step in Migration.all.prefix(5) { #expect(try await shell.run(step.sql).succeeded) }
        try await shell.run(
            """
            INSERT INTO penstock_queue (name) VALUES ('jobs');
            INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'old');
            """)
        #expect(try await SQLiteStore.restore(from: backup, to: target).nextSequence.rawValue == 1_000_000_002)
        let store = try await openRestored()
        #expect(try await store.texts() == ["old"])
        try await store.close()
        #expect(try await harness.findings(of: target) == [])
    }

    // MARK: What is refused

    @Test(arguments: ["", "-wal", "-shm", "-journal"]) func noFileIsReplaced(end: String) async throws {
        try await makeBackup()
        let path = target + end
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        let error = await expect(.fileExists) { try await SQLiteStore.restore(from: backup, to: target) }
        #expect(error?.message.contains(path) == true)
        #expect(try bytes(of: path) == Data("mine".utf8))
        #expect(try made() == ["restored.db\(end)"])
    }

    /// Another program makes the file while the store is being made.
    @Test func aFileThatComesMeanwhileIsNotReplaced() async throws {
        try await makeBackup()
        await expect(.fileExists) { [target = target as String] in
            try await SQLiteStore.restore(from: backup, to: target) { step in
                if step == .prepared { try Data("mine".utf8).write(to: URL(fileURLWithPath: target)) }
            }
        }
        #expect(try bytes(of: target) == Data("mine".utf8))
        #expect(try made() == ["restored.db"])
    }

    @Test func aBackupThatIsNoneIsRefused() async throws {
        await expect(.notFound) { try await SQLiteStore.restore(from: backup, to: target) }
        try Data(repeating: 0x41, count: 9000).write(to: URL(fileURLWithPath: backup))
        await expect(.notADatabase) { try await SQLiteStore.restore(from: backup, to: target) }
        try Data().write(to: URL(fileURLWithPath: backup))
        await expect(.notADatabase) { try await SQLiteStore.restore(from: backup, to: target) }
        try FileManager.default.removeItem(atPath: backup)
        try await ForeignProgram(backup).run("CREATE TABLE person (name TEXT)")
        await expect(.notADatabase) { try await SQLiteStore.restore(from: backup, to: target) }
        await expect(.notADatabase) { try await SQLiteStore.restore(from: folder.path, to: target) }
        #expect(try made() == [])
    }

    @Test func aBackupThatIsDamagedIsRefused() async throws {
        try await makeBackup()
        var content = try bytes(of: backup)
        for page in 4..<12 {
            content.replaceSubrange(page * 4096..<page * 4096 + 2000, with: [UInt8](repeating: 0xA5, count: 2000))
        }
        try content.write(to: URL(fileURLWithPath: backup))
        let error = await expect(.corrupt) { try await SQLiteStore.restore(from: backup, to: target) }
        #expect(error?.message.contains(backup) == true)
        #expect(try made() == [])
    }

    /// Damage in a page that a restore has no other reason to read.
    @Test func damageThatNothingElseMeetsIsFound() async throws {
        let store = try await harness.openWithJobs()
        for number in 1...9 { try await store.put(.long(number)) }
        try await ForeignProgram(harness.path).run("VACUUM INTO '\(backup)'")
        try await store.close()
        try damagePayload(5, in: backup)
        await expect(.corrupt) { try await SQLiteStore.restore(from: backup, to: target) }
        #expect(try made() == [])
    }

    @Test(arguments: [
        "INSERT INTO penstock_migration VALUES (99, 'later', 0)",
        "UPDATE penstock_state SET last_sequence = 9223372036854775807",
        "UPDATE penstock_state SET last_sequence = 2305843009213693952",
        "UPDATE penstock_state SET last_sequence = -1",
    ])
    func aBackupWithNoRoomAheadOrANewerSchemaIsRefused(_ sql: String) async throws {
        try await makeBackup()
        try await ForeignProgram(backup).run(sql)
        await expect(sql.contains("migration") ? .newerSchema : .corrupt) {
            try await SQLiteStore.restore(from: backup, to: target)
        }
        #expect(try made() == [])
    }

    @Test func aPlaceWhereNothingCanBeMadeIsRefused() async throws {
        try await makeBackup()
        await expect(.fileExists) { try await SQLiteStore.restore(from: backup, to: backup) }
        await expect(.notFound) { try await SQLiteStore.restore(from: backup, to: folder.file("none/restored.db")) }
        #expect(try made() == [])
    }

    @Test(.enabled(if: SmallDisk.canBeMade)) func aFolderThatCannotBeWrittenIsRefused() async throws {
        try await makeBackup()
        let place = folder.file("place")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        let mount = try ReadOnlyMount(place)
        await expect(.readOnly) { try await SQLiteStore.restore(from: backup, to: place + "/restored.db") }
        _ = mount
    }

    /// The backup may lie where nothing can be written.
    @Test(.enabled(if: SmallDisk.canBeMade)) func aBackupInAFolderThatCannotBeWrittenIsRestored() async throws {
        let place = folder.file("place")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        try await makeBackup()
        try FileManager.default.moveItem(atPath: backup, toPath: place + "/backup.db")
        let mount = try ReadOnlyMount(place)
        #expect(try await SQLiteStore.restore(from: place + "/backup.db", to: target).released == 1)
        _ = mount
    }

    @Test(.enabled(if: SmallDisk.canBeMade)) func aFullDiskIsSaid() async throws {
        let store = try await harness.openWithJobs()
        try await store.put(NewMessage(payload: [UInt8](repeating: 7, count: 3 << 20)))
        try await ForeignProgram(harness.path).run("VACUUM INTO '\(backup)'")
        try await store.close()
        let disk = try SmallDisk(mebibytes: 2, in: folder)
        await expect(.diskFull) { try await SQLiteStore.restore(from: backup, to: disk.path + "/restored.db") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
    }

    // MARK: Kills

    /// Wherever it is killed: the whole store is there or none, and what is left has a name that says what it is.
    @Test(arguments: CopyStep.allCases) func aKillLeavesNoHalfStore(step: CopyStep) async throws {
        try await makeBackup()
        let index = try #require(CopyStep.allCases.firstIndex(of: step))
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [backup = backup as String, target = target as String, index = index as Int] in
            _ = try await SQLiteStore.restore(from: backup, to: target) { step in
                if step == CopyStep.allCases[index] { kill(getpid(), SIGKILL) }
            }
        }
        let left = try made()
        #expect(left.contains("restored.db") == (step == .published))
        #expect(!left.isEmpty, "It was in the middle.")
        #expect(left.allSatisfy { $0 == "restored.db" || $0.hasPrefix("restored.db-restore-") })
        if step == .published {
            #expect(left == ["restored.db"], "A file of two names is nobody's to write.")
            await expect(.fileExists) { try await SQLiteStore.restore(from: backup, to: target) }
        } else {
            #expect(try await SQLiteStore.restore(from: backup, to: target).nextSequence.rawValue == 1_000_000_006)
            #expect(try made() == ["restored.db"], "The next one removes what was left.")
        }
        #expect(try await harness.findings(of: target) == [])
        try await openRestored().close()
    }

    /// Some file systems do not give a file another name in one step unless something has it.
    @Test(arguments: [ENOSYS, EINVAL, ENOTSUP])
    func aFileHasOneNameWhenItIsThereWhereItIsGivenInTwoSteps(number: Int32) async throws {
        try await makeBackup()
        let names = Mutex<[String]>([])
        let file = try NewFile(
            for: target, purpose: "restore",
            changeName: { _, _ in
                errno = number
                return -1
            })
        let copy = FileCopy(source: backup, file: file, path: target) { [folder = folder.path] step in
            guard step == .published else { return }
            let made = try FileManager.default.contentsOfDirectory(atPath: folder)
            names.withLock { $0 = made.filter { $0.hasPrefix("restored.db") } }
        }
        try copy.perform { _ in }
        #expect(names.withLock(\.self) == ["restored.db"])
    }

    /// An error at any point leaves nothing at all.
    @Test(arguments: CopyStep.allCases) func anErrorLeavesNothing(step: CopyStep) async throws {
        try await makeBackup()
        await #expect(throws: CocoaError.self) {
            try await SQLiteStore.restore(from: backup, to: target) { reached in
                if reached == step { throw CocoaError(.fileWriteUnknown) }
            }
        }
        #expect(try made() == (step == .published ? ["restored.db"] : []))
    }
}
