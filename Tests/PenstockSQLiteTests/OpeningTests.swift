import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What may stand at a path, and what becomes of it.
@Suite(.timeLimit(.minutes(5))) struct OpeningTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test func aNewFileIsPrivate() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        _ = try await store.take()
        #expect(try mode(of: path) == 0o600)
        #expect(try mode(of: path + "-wal") == 0o600)
        #expect(try mode(of: path + "-penstock") == 0o700)
        let files = try FileManager.default.contentsOfDirectory(atPath: path + "-penstock")
        #expect(files.count == 5, "A doorbell, the writers' lock and slots, whose log it is, and one worker: \(files)")
        for file in files {
            #expect(try mode(of: path + "-penstock/" + file) == 0o600, "\(file)")
        }
        try await store.close()
    }

    /// A link to a file that is at work is the beginning of a backup to some. By the name by which it is worked all of it is seen.
    @Test func aFileThatGetsAnotherNameIsLookedAtByItsOwn() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        let other = folder.file("other.db")
        try FileManager.default.linkItem(atPath: path, toPath: other)
        let reader = try await SQLiteReader.open(path: path)
        try await store.put(.text("more"))
        #expect(try await reader.messages(MessageQuery()).count == 2)
        try await reader.close()
        await expect(.invalidInput) { _ = try await SQLiteReader.open(path: other) }
        try await store.close()
    }

    /// Its log and the workers' locks go by its name: those who come by another one lose each other's messages.
    @Test func aFileWithTwoNamesIsRefused() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        try await store.close()
        let other = folder.file("other.db")
        try FileManager.default.linkItem(atPath: path, toPath: other)
        for name in [path, other] {
            let error = await expect(.invalidInput) { _ = try await SQLiteStore.open(path: name) }
            #expect(error?.message.contains("has 2 names (hard links)") == true)
            let reader = try await SQLiteReader.open(path: name)
            #expect(try await reader.messages(MessageQuery()).count == 1, "Looking does no harm.")
            try await reader.close()
        }
        #expect(!exists(other + "-penstock"))
        #expect(!exists(other + "-wal"), "It would be written into the file one day.")
        try FileManager.default.removeItem(atPath: other)
        try await SQLiteStore.open(path: path).close()
    }

    /// SQLite says of it only that it cannot be opened.
    @Test func aPathThatIsTooLongIsSaid() async throws {
        var long = folder.path
        while long.utf8.count < 350 { long += "/" + String(repeating: "d", count: 100) }
        try FileManager.default.createDirectory(atPath: long, withIntermediateDirectories: true)
        func file(_ bytes: Int) -> String { long + "/" + String(repeating: "f", count: bytes - long.utf8.count - 1) }
        try await SQLiteStore.open(path: file(504)).close()
        let error = await expect(.invalidInput) { _ = try await SQLiteStore.open(path: file(505)) }
        #expect(error?.message.contains("has 505 bytes") == true)
    }

    @Test func aNameThatLeavesNoRoomBesideItIsSaid() async throws {
        func file(_ bytes: Int) -> String { folder.file(String(repeating: "f", count: bytes)) }
        try await SQLiteStore.open(path: file(246)).close()
        let error = await expect(.invalidInput) { _ = try await SQLiteStore.open(path: file(247)) }
        #expect(error?.message.contains("has 247 bytes") == true)
        #expect(!FileManager.default.fileExists(atPath: file(247)))
    }

    /// SQLite would take it for the other database's own, and remove it.
    @Test(arguments: ["-wal", "-shm", "-journal", "-penstock"])
    func nothingIsMadeUnderTheNameOfACompanion(end: String) async throws {
        let other = folder.file("other.db")
        try await SQLiteStore.open(path: other).close()
        if end == "-penstock" { try FileManager.default.removeItem(atPath: other + end) }
        await expect(.fileExists) { _ = try await SQLiteStore.open(path: other + end) }
        #expect(!FileManager.default.fileExists(atPath: other + end))
    }

    @Test func companionsOfASharedFileAreShared() async throws {
        try Data().write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o660], ofItemAtPath: path)
        let store = try await SQLiteStore.openWithJobs(path)
        #expect(try mode(of: path + "-penstock") == 0o770)
        #expect(try mode(of: path + "-penstock/doorbell-2") == 0o660)
        #expect(try mode(of: path + "-penstock/writer-lock") == 0o660)
        try await store.close()
    }

    /// A program that accompanies others may have been there before: its tables begin with an underscore.
    @Test func aCompanionsTablesKeepNobodyOut() async throws {
        try await DatabaseQueue(path: path).write { database in
            try database.execute(sql: "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
            try database.execute(sql: "CREATE TABLE _litestream_lock (id INTEGER)")
        }
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        #expect(try await store.texts() == ["it"])
        try await store.close()
    }

    @Test func anEmptyFileBecomesAStore() async throws {
        try Data().write(to: URL(fileURLWithPath: path))
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        #expect(try await store.texts() == ["it"])
        try await store.close()
    }

    @Test func anEmptyFileStaysEmptyUnlessItMayBeMade() async throws {
        try Data().write(to: URL(fileURLWithPath: path))
        let error = await expect(.notFound) {
            try await SQLiteStore.open(path: path, options: .init(createIfMissing: false))
        }
        #expect(error?.message.contains("has none of Penstock's tables yet") == true)
        #expect(try bytes(of: path).isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["queue.db"])
    }

    /// The log may hold messages. Whoever has lost the file may find it again.
    @Test(arguments: [nil, Data()]) func aLogWithoutItsFileIsLeftAsItIs(_ file: Data?) async throws {
        let old = try await SQLiteStore.openWithJobs(path)
        try await old.put(.text("old"))
        let log = try bytes(of: path + "-wal")
        let whole = try bytes(of: path)
        try await old.close()
        try FileManager.default.removeItem(atPath: path)
        try log.write(to: URL(fileURLWithPath: path + "-wal"))
        try file?.write(to: URL(fileURLWithPath: path))
        let errors = [
            await expect(.corrupt) { try await SQLiteStore.open(path: path) },
            await expect(.corrupt) { try await SQLiteStore.open(path: path, options: .init(createIfMissing: false)) },
            await expect(.corrupt) { try await SQLiteReader.open(path: path) },
            await expect(.corrupt) { try await SQLiteStore.inspectHealth(path: path) },
        ]
        #expect(errors.allSatisfy { $0?.message.contains("move \(path)-wal away to begin anew") == true })
        #expect(exists(path) == (file != nil))
        #expect(try bytes(of: path + "-wal") == log)

        try whole.write(to: URL(fileURLWithPath: path))
        let found = try await SQLiteStore.open(path: path)
        #expect(try await found.texts() == ["old"])
        // Another one that found no file a moment ago finds it now.
        try OpenFile.createPrivately(path)
        try await found.close()
    }

    /// Another process writes the first page and begins its log, between two looks of this one.
    @Test func aFileThatIsJustBeingMadeIsNotCalledCut() throws {
        try Data().write(to: URL(fileURLWithPath: path))
        try Data(count: 32).write(to: URL(fileURLWithPath: path + "-wal"))
        _ = try FileIdentity(of: path) { file in
            if file != path { #expect(truncate(path, 4096) == 0) }
            return FileIdentity.status(of: file)
        }
    }

    /// The process that makes a file may die at any moment; how much there is then of the file and of its log.
    @Test(arguments: [(0, 0), (1, 0), (1, 20), (1, 32), (1, 5000), (1, 100_000), (1, .max)])
    func aFileWhoseMakerDiedIsMadeAgain(_ pages: Int, logBytes: Int) async throws {
        let whole = folder.file("whole.db")
        let maker = try await SQLiteStore.openWithJobs(whole)
        let log = try bytes(of: whole + "-wal")
        #expect(log.count > 100_000)
        #expect(try bytes(of: whole).count == 4096, "The first page comes before the log.")
        try bytes(of: whole).prefix(pages * 4096).write(to: URL(fileURLWithPath: path))
        if pages > 0 { try log.prefix(logBytes).write(to: URL(fileURLWithPath: path + "-wal")) }
        try await maker.close()

        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        #expect(try await store.texts() == ["it"])
        try await store.close()
        #expect(try await SQLiteStore.inspectHealth(path: path).findings == [])
    }

    @Test func aMissingFileIsNotMadeUnlessItMayBe() async throws {
        await expect(.notFound) { try await SQLiteStore.open(path: path, options: .init(createIfMissing: false)) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func aMissingFolderIsNamed() async throws {
        let error = await expect(.notFound) { try await SQLiteStore.open(path: folder.file("no/such/queue.db")) }
        #expect(error?.message.contains("folder") == true)
        await expect(.notFound) { try await SQLiteStore.open(path: folder.file("no-such/")) }
    }

    @Test(arguments: ["", "a\0b"]) func aPathThatIsNoneIsRefused(_ path: String) async {
        await expect(.invalidInput) { try await SQLiteStore.open(path: path) }
    }

    @Test(arguments: ["This is no database, however long it may be.", String(repeating: "x", count: 100_000)])
    func aFileThatIsNoDatabaseIsRefusedAndUntouched(_ text: String) async throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        await expect(.notADatabase) { try await SQLiteStore.open(path: path) }
        #expect(try bytes(of: path) == Data(text.utf8))
        #expect(!exists(path + "-penstock"))
    }

    @Test func aFolderOrAPipeIsRefused() async throws {
        await expect(.notADatabase) { try await SQLiteStore.open(path: folder.path) }
        #expect(mkfifo(path, 0o600) == 0)
        await expect(.notADatabase) { try await SQLiteStore.open(path: path) }
    }

    @Test(arguments: ["wal", "delete"])
    func anotherProgramsFileIsRefusedAndUntouched(_ journal: String) async throws {
        let other = try ForeignProgram(path)
        _ = try await other.rows("PRAGMA journal_mode = \(journal)")
        try await other.run("CREATE TABLE address (name TEXT); INSERT INTO address VALUES ('Ann')")
        try other.close()
        let before = try bytes(of: path)
        let error = await expect(.notADatabase) { try await SQLiteStore.open(path: path) }
        #expect(error?.message.contains("address") == true)
        #expect(try bytes(of: path) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["queue.db"])
    }

    /// That program was killed; what it wrote last is in the log alone.
    @Test func whatAnotherProgramHasLeftInItsLogStaysThere() async throws {
        let live = folder.file("live.db")
        let other = try ForeignProgram(live)
        _ = try await other.rows("PRAGMA journal_mode = wal")
        try await other.run("CREATE TABLE address (name TEXT); INSERT INTO address VALUES ('Ann')")
        for suffix in ["", "-wal"] { try bytes(of: live + suffix).write(to: URL(fileURLWithPath: path + suffix)) }
        try other.close()
        let before = try [path, path + "-wal"].map { try bytes(of: $0) }
        #expect(before[1].count > 4096)
        await expect(.notADatabase) { try await SQLiteStore.open(path: path) }
        #expect(try [path, path + "-wal"].map { try bytes(of: $0) } == before)
        #expect(!exists(path + "-penstock"))
    }

    @Test func anotherProgramsFileIsTakenThroughItsOwnPool() async throws {
        let pool = try DatabasePool(path: path)
        try await pool.write { try $0.execute(sql: "CREATE TABLE address (name TEXT)") }
        let store = try await SQLiteStore.open(pool: pool)
        try await store.close()
        // From then on it is one of Penstock's as well, and every penstock can open it.
        let again = try await SQLiteStore.openWithJobs(path)
        try await again.close()
    }

    @Test func aLinkAndItsFileAreOneStore() async throws {
        try FileManager.default.createDirectory(atPath: folder.file("real"), withIntermediateDirectories: false)
        let real = folder.file("real/queue.db")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "real/queue.db")
        // The link leads to no file yet: the file is made, and not the link replaced.
        let byLink = try await SQLiteStore.openWithJobs(path)
        #expect(exists(real))
        #expect(try mode(of: real) == 0o600)
        try await byLink.put(.text("it"))
        #expect(try await byLink.take().count == 1)

        let byName = try await SQLiteStore.open(path: real)
        #expect(try await byName.status(of: nil).workers.map(\.isAlive) == [true])
        #expect(try await byName.reclaim() == Reclaimed(), "Each sees the other's lock, whatever name it came by.")
        #expect(!exists(path + "-penstock"))
        try await byLink.close()
        try await byName.close()
    }

    @Test func aLinkToItselfIsRefused() async throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        await expect(.notFound) { try await SQLiteStore.open(path: path) }
    }

    @Test(arguments: [":memory:", "file:queue.db?mode=memory", "ümläut and space.db", "q'uote.db"])
    func everyNameIsAFilesName(_ name: String) async throws {
        let store = try await SQLiteStore.openWithJobs(folder.file(name))
        try await store.put(.text("it"))
        try await store.close()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == [name, name + "-penstock"])
        let again = try await SQLiteStore.open(path: folder.file(name))
        #expect(try await again.texts() == ["it"])
        try await again.close()
    }

    @Test func aNamesMeaningIsSettledAtOpening() throws {
        let here = FileManager.default.currentDirectoryPath
        #expect(try DatabasePath.resolved("no-such-file.db") == DatabasePath.resolved(here + "/no-such-file.db"))
        #expect(try DatabasePath.resolved(folder.path + "//./queue.db") == DatabasePath.resolved(path))
    }
}
