import CPenstockTests
import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQLite

/// SQLite has one word for files that may not be opened, for processes that have too many open, and for disks that give no file.
@Suite(.timeLimit(.minutes(5))) struct StorageErrorTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    private static func translated(_ path: String, _ code: ResultCode = .SQLITE_CANTOPEN) -> PenstockError? {
        StorageErrors.translated(DatabaseError(resultCode: code), path: path) as? PenstockError
    }

    init() throws {
        try Data().write(to: URL(fileURLWithPath: path))
    }

    @Test func wantOfPermissionIsSaid() {
        #expect(Self.translated(folder.file("no/such.db"))?.code == .readOnly)
    }

    @Test func aDiskThatGivesNoFileIsNotTakenForWantOfFiles() {
        let error = Self.translated(path)
        #expect(error?.code == .storage)
        #expect(error?.message.contains("df -i") == true)
        #expect(error?.message.contains("ulimit") == false)
    }

    /// SQLite says no more than that there is no room, or that a write has failed.
    @Test(arguments: [ResultCode.SQLITE_FULL, .SQLITE_IOERR_SHMSIZE, .SQLITE_IOERR_WRITE])
    func boundsOfAUserOrAProcessAreNamedBesideTheDisk(code: ResultCode) {
        let message = Self.translated(path, code)?.message ?? ""
        #expect(message.contains("disk") && message.contains("quota") && message.contains("`ulimit -f`"), "\(message)")
    }

    @Test func whatKeepsSharedMemoryFromGrowingMayBeAnErrorOfTheDisk() {
        let message = Self.translated(path, .SQLITE_IOERR_SHMSIZE)?.message ?? ""
        #expect(message.contains("or the disk reports an error; make room or see to the disk"), "\(message)")
        #expect(Self.translated(path, .SQLITE_FULL)?.message.contains("error") == false)
    }

    /// A worker that ends while it looks for what to prune would warn of an error.
    @Test func aStatementThatACancelledTaskLeavesHasNotFailed() async {
        let path = path
        func isCancellation() -> Bool {
            let error = StorageErrors.translated(DatabaseError(resultCode: .SQLITE_INTERRUPT), path: path)
            return error is CancellationError
        }
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return isCancellation()
        }
        #expect(await cancelled.value)
        #expect(!isCancellation(), "An application may interrupt a pool of its own.")
    }

    /// Another process is about to begin the index of the log, and was stopped.
    @Test func aLockThatSQLiteGivesUpIsWaitedForAsAnyOther() throws {
        var tries = 0
        try Patience.whileLocked(upTo: .seconds(60)) {
            tries += 1
            if tries < 3 { throw DatabaseError(resultCode: tries == 1 ? .SQLITE_PROTOCOL : .SQLITE_BUSY) }
        }
        #expect(tries == 3)
        #expect(Self.translated(path, .SQLITE_PROTOCOL)?.code == .busy)
        #expect(throws: DatabaseError.self) {
            try Patience.whileLocked(upTo: .zero) { () throws -> Void in
                throw DatabaseError(resultCode: .SQLITE_PROTOCOL)
            }
        }
    }

    /// Foundation has words of its own, which are none for people.
    @Test func aLogThatCannotBeLookedAtIsAnErrorOfTheDisk() throws {
        let error = #expect(throws: PenstockError.self) {
            try StorageErrors.opening(path) { () throws -> Void in throw CocoaError(.fileReadUnknown) }
        }
        #expect(error?.code == .storage)
        #expect(error?.message.hasPrefix("\(path)-wal cannot be looked at") == true)
        #expect(try StorageErrors.opening(path, { 7 }) == 7)
    }

    @Test func wantOfFilesIsNotTakenForWantOfPermission() async throws {
        await #expect(processExitsWith: .success) { [path = path as String] in
            precondition(Self.setMaxOfFiles(0))
            let error = Self.translated(path)
            exit(error?.code == .storage && error?.message.contains("ulimit -n") == true ? 0 : 20)
        }
    }

    /// SQLite opens a file that the system does not open to be written as one that is only to be read, whatever the reason is.
    @Test func aFileThatOpensOnlyToBeReadIsNotTakenForWantOfPermission() async throws {
        await #expect(processExitsWith: .success) { [path = path as String] in
            precondition(penstock_refuse_writes() == 0)
            let isSaid = await Self.isStorage(path) { _ = try await SQLiteStore.open(path: path) }
            exit(isSaid ? 0 : 20)
        }
    }

    /// Nor is the source of a copy blamed, which is sound.
    @Test func aCopyThatOpensOnlyToBeReadIsNotTakenForItsSource() async throws {
        let (source, copy) = (folder.file("source.db"), folder.file("copy.db"))
        try await SQLiteStore.openWithJobs(source).close()
        await #expect(processExitsWith: .success) { [source = source as String, copy = copy as String] in
            precondition(penstock_refuse_writes() == 0)
            let isSaid = await Self.isStorage(copy) {
                _ = try await SQLiteStore.backup(of: source, to: copy, replacing: false)
            }
            exit(isSaid ? 0 : 20)
        }
    }

    @Test func aRepairThatOpensAFileOnlyToBeReadDoesNotBlameItsMode() async throws {
        let source = folder.file("source.db")
        try await SQLiteStore.openWithJobs(source).close()
        await #expect(processExitsWith: .success) { [source = source as String] in
            precondition(penstock_refuse_writes() == 0)
            let isSaid = await Self.isStorage(source) { _ = try await SQLiteStore.repair(path: source) }
            exit(isSaid ? 0 : 20)
        }
    }

    /// Where the disk fails as a new file gets its log, nobody has removed that.
    @Test func aLogThatCannotBeBegunIsNotTakenForOneThatWasRemoved() async throws {
        await #expect(processExitsWith: .success) { [path = path as String] in
            precondition(penstock_refuse_header(2) == 0)
            let isSaid = await Self.isStorage(path, "cannot be written: the disk reports an error") {
                _ = try await SQLiteStore.open(path: path)
            }
            exit(isSaid ? 0 : 20)
        }
    }

    /// A copy that stayed a file with a write-ahead log would have that log thrown away.
    @Test func aCopyThatCannotBeMadeOneFileIsNotPublished() async throws {
        let (source, copy) = (folder.file("source.db"), folder.file("copy.db"))
        try await SQLiteStore.openWithJobs(source).close()
        await #expect(processExitsWith: .success) { [source = source as String, copy = copy as String] in
            precondition(penstock_refuse_header(1) == 0)
            let isSaid = await Self.isStorage(copy, "cannot be written: the disk reports an error") {
                _ = try await SQLiteStore.backup(of: source, to: copy, replacing: false)
            }
            exit(isSaid ? 0 : 20)
        }
        #expect(!FileManager.default.fileExists(atPath: copy))
    }

    /// Whether `body` throws `storage` about the file at `path`, with such words.
    private static func isStorage(
        _ path: String, _ words: String = "or a file beside it cannot be opened", _ body: () async throws -> Void
    ) async -> Bool {
        do {
            try await body()
            return false
        } catch let error as PenstockError {
            return error.code == .storage && error.message.contains("\(path) \(words)")
        } catch {
            return false
        }
    }

    /// Sets how many files this process may have open.
    private static func setMaxOfFiles(_ max: rlim_t) -> Bool {
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var bound = rlimit()
        guard getrlimit(resource, &bound) == 0 else { return false }
        bound.rlim_cur = max
        return setrlimit(resource, &bound) == 0
    }
}
