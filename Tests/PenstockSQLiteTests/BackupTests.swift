import Dispatch
import Foundation
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A backup is what was committed at one moment, is there whole or not at all, and replaces only a backup.
@Suite(.timeLimit(.minutes(5))) struct BackupTests {
    private let harness = SQLiteHarness()
    private var folder: TemporaryFolder { harness.folder }
    private var target: String { folder.file("backup.db") }

    @discardableResult
    private func backup(
        replacing: Bool = false, after step: @escaping @Sendable (CopyStep) throws -> Void = { _ in }
    ) async throws -> BackupReport {
        try await SQLiteStore.backup(of: harness.path, to: target, replacing: replacing, after: step)
    }

    /// What is in the folder, but for the store.
    private func made() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix("queue.db") }.sorted()
    }

    private func textsInBackup() async throws -> [String] {
        let reader = try await SQLiteReader.open(path: target)
        let texts = try await reader.log(LogQuery(queue: .jobs, .last(Limits.rowsMax), limit: Limits.rowsMax)).records
            .map {
                String(decoding: $0.payload, as: UTF8.self)
            }
        try await reader.close()
        return texts
    }

    @Test func aBackupHasWhatWasCommitted() async throws {
        let store = try await harness.openWithJobs()
        for number in 1...3 { try await store.put(.text("\(number)")) }
        let report = try await backup()
        #expect(report.path == target)
        #expect(report.source == harness.path)
        #expect(report.lastSequence.rawValue == 3)
        #expect(report.byteCount == (try bytes(of: target).count))
        try await store.put(.text("later"))
        #expect(try made() == ["backup.db"])
        #expect(try mode(of: target) == 0o600)
        #expect(try await textsInBackup() == ["1", "2", "3"])
        #expect(try made() == ["backup.db"], "One that is looked at is still one file.")
        try await store.close()
        let restored = try await SQLiteStore.restore(from: target, to: folder.file("new.db"))
        #expect(restored.nextSequence.rawValue == 1_000_000_004)
    }

    /// Writers go on while the copy is made, and it has what one of them had written at some moment: no more, no hole.
    @Test func writersGoOnMeanwhile() async throws {
        let store = try await harness.openWithJobs()
        let path = harness.path
        let copy = Copy()
        let writing = Task {
            var (count, countBehind) = (0, 0)
            while !Task.isCancelled {
                // What begins behind the copy, and ends before the backup does, has waited for neither.
                let isBehind = copy.isMade.withLock(\.self)
                count += 1
                let messages = [NewMessage.text("\(count) a"), .text("\(count) b")]
                _ = try await store.enqueue(messages, to: .jobs, durability: .processCrash)
                countBehind += isBehind ? 1 : 0
                if countBehind == 1 { copy.isWrittenBehind.signal() }
            }
        }
        try await eventually { try await store.depths().ready > 100 }
        let report = try await backup { step in
            guard step == .copied else { return }
            copy.isMade.withLock { $0 = true }
            copy.isWrittenBehind.wait()
        }
        writing.cancel()
        // It may have been about to write.
        do { try await writing.value } catch is CancellationError {}
        let texts = try await textsInBackup()
        #expect(texts.count > 100)
        #expect(Int64(texts.count) == report.lastSequence.rawValue)
        #expect(
            texts == (1...texts.count / 2).flatMap { ["\($0) a", "\($0) b"] }, "Whole transactions, from the first on.")
        #expect(try await SQLiteStore.inspectHealth(path: target).findings.filter { $0.severity == .error } == [])
        #expect(try await SQLiteStore.inspectHealth(path: path).findings.filter { $0.severity == .error } == [])
        try await store.close()
    }

    @Test func anOlderBackupIsReplaced() async throws {
        let store = try await harness.openWithJobs()
        try await store.put(.text("1"))
        try await backup(replacing: true)
        try await store.put(.text("2"))
        await expect(.fileExists) { try await backup() }
        #expect(try await textsInBackup() == ["1"])
        for step in CopyStep.allCases where step != .published {
            await #expect(throws: CocoaError.self) {
                try await backup(replacing: true) { if $0 == step { throw CocoaError(.fileWriteUnknown) } }
            }
            #expect(try await textsInBackup() == ["1"], "The older one is as it was.")
        }
        #expect(try await backup(replacing: true).lastSequence.rawValue == 2)
        #expect(try await textsInBackup() == ["1", "2"])
        #expect(try made() == ["backup.db"])
        try await store.close()
    }

    @Test func nothingElseIsReplaced() async throws {
        let store = try await harness.openWithJobs()
        func expectRefusal(of path: String) async throws {
            let before = try? bytes(of: path)
            await expect(.fileExists) {
                try await SQLiteStore.backup(of: harness.path, to: path, replacing: true)
            }
            #expect((try? bytes(of: path)) == before)
        }
        try await expectRefusal(of: harness.path)
        for end in ["-wal", "-shm", "-journal", "-penstock"] { try await expectRefusal(of: harness.path + end) }
        symlink(harness.path, folder.file("link.db"))
        try await expectRefusal(of: folder.file("link.db"))
        try Data("a letter".utf8).write(to: URL(filePath: target))
        try await expectRefusal(of: target)
        try Data().write(to: URL(filePath: target))
        try await expectRefusal(of: target)
        try await ForeignProgram(folder.file("theirs.db")).run("CREATE TABLE theirs (a)")
        try await expectRefusal(of: folder.file("theirs.db"))
        // Another store, at rest.
        let other = try await SQLiteStore.openWithJobs(folder.file("other.db"))
        try await other.close()
        try await expectRefusal(of: folder.file("other.db"))
        // What belongs to another database of that name.
        for end in ["-wal", "-shm", "-journal"] {
            let companion = folder.file("mine.db\(end)")
            try Data("mine".utf8).write(to: URL(filePath: companion))
            await expect(.fileExists) {
                try await SQLiteStore.backup(of: harness.path, to: folder.file("mine.db"), replacing: true)
            }
            try FileManager.default.removeItem(atPath: companion)
        }
        try await store.close()
    }

    @Test func whatIsNoStoreHasNoBackup() async throws {
        await expect(.notFound) { try await backup() }
        try Data(repeating: 65, count: 5000).write(to: URL(filePath: harness.path))
        await expect(.notADatabase) { try await backup() }
        #expect(try made() == [])
        try FileManager.default.removeItem(atPath: harness.path)
        try await ForeignProgram(harness.path).run("CREATE TABLE theirs (a)")
        await expect(.notADatabase) { try await backup() }
        #expect(try made() == [])
    }

    /// What has its name before its pages are on the disk is no backup after a power cut, and the older one is gone by then.
    @Test(arguments: [false, true]) func theFileIsOnTheDiskBeforeItHasItsName(isDiskBroken: Bool) async throws {
        let store = try await harness.openWithJobs()
        try await store.put(.text("1"))
        try await backup()
        try await store.put(.text("2"))
        let steps = Steps()
        let file = try NewFile(for: target, purpose: "backup", replaces: true) { descriptor in
            steps.note("flushed")
            guard isDiskBroken else { return Flusher.systemFlush(descriptor) }
            errno = EIO
            return -1
        }
        let copy = FileCopy(source: harness.path, file: file, path: target, after: { steps.note("\($0)") })
        if isDiskBroken {
            await expect(.storage) { try copy.perform { _ in } }
            #expect(steps.all == ["copied", "checked", "flushed"])
        } else {
            try copy.perform { _ in }
            #expect(steps.all == ["copied", "checked", "flushed", "prepared", "published"])
        }
        #expect(try await textsInBackup() == (isDiskBroken ? ["1"] : ["1", "2"]))
        #expect(try made() == ["backup.db"])
        try await store.close()
    }

    /// Wherever it is killed: the new backup is there or the old one, and what is left has a name that says what it is.
    @Test(arguments: CopyStep.allCases) func aKillLeavesNoHalfBackup(step: CopyStep) async throws {
        let store = try await harness.openWithJobs()
        try await store.put(.text("1"))
        try await backup()
        try await store.put(.text("2"))
        let index = try #require(CopyStep.allCases.firstIndex(of: step))
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [source = harness.path as String, target = target as String, index = index as Int] in
            _ = try await SQLiteStore.backup(of: source, to: target, replacing: true) { step in
                if step == CopyStep.allCases[index] { kill(getpid(), SIGKILL) }
            }
        }
        #expect(try await textsInBackup() == (step == .published ? ["1", "2"] : ["1"]))
        #expect(try made().allSatisfy { $0 == "backup.db" || $0.hasPrefix("backup.db-backup-") })
        #expect(try await backup(replacing: true).lastSequence.rawValue == 2)
        #expect(try await textsInBackup() == ["1", "2"])
        #expect(try made() == ["backup.db"], "The next one removes what was left.")
        try await store.close()
    }

    /// SQLite does not say which of its files it cannot make: the backup's is named, and its disk.
    @Test(.enabled(if: SmallDisk.canBeMade, "Mounting a small disk needs root."), arguments: 0...2)
    func whereThereMayBeNoMoreFilesTheBackupIsNamed(left: Int) async throws {
        let store = try await harness.openWithJobs()
        try await store.put(.text("1"))
        let disk = try SmallDisk(mebibytes: 2, fileCountMax: 20, in: folder)
        var fillers = 0
        while fillers < 64 {
            let descriptor = open("\(disk.path)/\(fillers)", O_CREAT | O_WRONLY, 0o600)
            guard descriptor >= 0 else { break }
            close(descriptor)
            fillers += 1
        }
        try #require(fillers < 64, "The disk heeds no bound on its files.")
        for number in 0..<left { try FileManager.default.removeItem(atPath: "\(disk.path)/\(number)") }
        let (source, target) = (harness.path, "\(disk.path)/backup.db")
        let error = await #expect(throws: PenstockError.self) {
            try await SQLiteStore.backup(of: source, to: target, replacing: false)
        }
        #expect(error?.code == (left == 0 ? PenstockError.Code.diskFull : .storage))
        let message = error?.message ?? ""
        #expect(message.hasPrefix(target) && message.contains(left == 0 ? "No space left" : "`df -i`"), "\(message)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path).count == fillers - left)
        try await store.close()
        withExtendedLifetime(disk) {}
    }

    /// The file has a longer name until it is whole, and SQLite one beside it.
    @Test func aNameThatIsTooLongMeanwhileIsRefused() async throws {
        let store = try await harness.openWithJobs()
        try await store.close()
        let source = harness.path
        for (length, excess) in [(203, 0), (204, 1), (246, 43)] {
            let target = folder.file(String(repeating: "b", count: length))
            if excess == 0 {
                _ = try await SQLiteStore.backup(of: source, to: target, replacing: false)
                continue
            }
            let error = await expect(.invalidInput) {
                try await SQLiteStore.backup(of: source, to: target, replacing: false)
            }
            #expect(error?.message.contains("is \(excess) bytes too long") == true, "\(error?.message ?? "")")
        }
        await expect(.invalidInput) {
            try await SQLiteStore.restore(from: source, to: folder.file(String(repeating: "r", count: 203)))
        }
    }

    /// What another backup to the same name has not finished yet is not taken for what a dead one has left.
    @Test func aBackupThatIsUnderWayIsNotRemoved() async throws {
        let store = try await harness.openWithJobs()
        try await store.put(.text("1"))
        let (source, target) = (harness.path, target)
        // Named as one would be, and no file of that kind.
        let mine = folder.file("backup.db-backup-of-mine")
        try Data("mine".utf8).write(to: URL(filePath: mine))
        try await backup(replacing: true) { step in
            guard step != .published else { return }
            _ = try BackingUp(source: source, path: target, replaces: true, after: { _ in }).perform()
        }
        #expect(try await textsInBackup() == ["1"])
        #expect(try made() == ["backup.db", "backup.db-backup-of-mine"])
        try await store.close()
    }
}

/// A copy that a backup has made, and what writers do behind it.
private final class Copy: Sendable {
    let isMade = Mutex(false)
    let isWrittenBehind = DispatchSemaphore(value: 0)
}

/// What the making of a file has done, in order.
private final class Steps: Sendable {
    private let noted = Mutex<[String]>([])
    var all: [String] { noted.withLock(\.self) }

    func note(_ step: String) { noted.withLock { $0.append(step) } }
}
