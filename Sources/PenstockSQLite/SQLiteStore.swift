import Foundation
public import GRDB
public import PenstockCore
import PenstockProcesses
import Synchronization
public import PenstockSQL

/// A ``MessageStore`` in an SQLite file, for any number of processes of one machine.
///
/// Guarantees, beyond the protocol's:
/// - A call with durability `powerLoss` is on the disk when it returns (WAL, flushed after the commit).
/// - Calls of this process share transactions; no caller sees a lock, and no blocking call runs on Swift's threads.
/// - The messages of a process that dies are given back at the first ``reclaim()`` after its death.
///
/// A store that is let go without ``close()`` finishes what it was asked for, and then counts as dead: what it had
/// leased goes back in line.
public final class SQLiteStore: SQLStore {
    /// How to open a store.
    public struct Options: Sendable {
        /// The clocks.
        public var time: any TimeSource
        /// Where tokens and jitter come from.
        public var random: any RandomSource
        /// Whether a missing file is made, and the tables in an empty one.
        public var createIfMissing: Bool
        /// What becomes of a file whose schema is older.
        public var migration: MigrationPolicy
        /// What people see in the list of workers; `nil`: host and process number.
        public var workerName: String?
        /// How long another program may hold the file for writing before calls throw `busy`. For tests.
        package var busyMax = Duration.seconds(30)
        /// Called between the steps of a call that works in several transactions. For tests.
        package var afterStep: (@Sendable () async throws -> Void)?
        /// Whether waiters are woken by rings alone, and not by what a look at the file finds that nobody has rung for. For tests.
        package var hearsRingsAlone = false
        /// How long the machine has been suspended. For tests.
        var asleep = MachineSuspension.measured()
        /// How what was committed gets on the disk. For tests, in which the power fails.
        var flush = Flusher.systemFlush
        /// Makes options: the machine's clocks and generator, a missing file is made.
        public init(
            time: any TimeSource = SystemTime(),
            random: any RandomSource = SystemRandom(),
            createIfMissing: Bool = true,
            migration: MigrationPolicy = .automatic,
            workerName: String? = nil
        ) {
            self.time = time
            self.random = random
            self.createIfMissing = createIfMissing
            self.migration = migration
            self.workerName = workerName
        }
    }

    /// What the operations need of the file.
    public let core: SQLStoreCore
    /// The names of the steps of the schema that were applied as it was opened.
    package let appliedSteps: [String]
    let access: DatabaseAccess
    let folder: SharedFolder
    private let listener: ChangeListener
    let doorbell: Doorbell

    /// Opens the file at `path`, and brings it to the newest schema unless the options say otherwise.
    ///
    /// A file that is not a database, whose schema is newer, or that holds another program's tables is left as it is.
    /// ``SQLiteReader`` opens a file that is only to be read.
    ///
    /// - Throws: ``PenstockError`` with code `notFound`, `notADatabase`, `newerSchema`, `olderSchema`, `readOnly`,
    ///   `diskFull`, `corrupt` or `busy`; `readOnly` also when what SQLite keeps beside the file may be another user's; `fileReplaced` when the write-ahead log beside the file is that of one that was there
    ///   before; `fileExists` when a new file would have the name of what SQLite keeps beside another one; `invalidInput` when `path` is
    ///   none.
    public static func open(path: String, options: Options = Options()) async throws -> SQLiteStore {
        try await DatabasePath.use(path) { path in
            let pool = try OpenFile.pool(
                at: path, createIfMissing: options.createIfMissing, busyMax: options.busyMax)
            return try SQLiteStore(pool, path: path, ownsPool: true, options)
        }
    }

    /// Uses an application's own pool, whose database gets Penstock's tables beside the application's.
    ///
    /// The pool stays the application's: it keeps its settings, ``close()`` leaves it open, and it must stay open until
    /// then. The store's writes take their turn among the application's. They do not go through GRDB's statements, so
    /// observations of the application's own tables see nothing of them, and observations of Penstock's tables neither.
    ///
    /// - Throws: as ``open(path:options:)``.
    public static func open(pool: DatabasePool, options: Options = Options()) async throws -> SQLiteStore {
        try await DatabasePath.use(pool.path) { path in
            try OtherNames.refuse(path)
            try FileIdentity.refuseOtherLog(path)
            try DatabaseCompanions(of: path).refuseForeign(toWrite: true)
            return try SQLiteStore(pool, path: path, ownsPool: false, options)
        }
    }

    private init(_ pool: DatabasePool, path: String, ownsPool: Bool, _ options: Options) throws {
        appliedSteps = try pool.writeWithoutTransaction { database in
            let migrator = SchemaMigrator(path: path)
            if options.migration == .refuse { try migrator.refuseOlder(database) }
            let steps = try migrator.migrate(database, busyMax: options.busyMax)
            // A step of the schema may be larger than memory; the store's own transactions are not.
            if ownsPool { try OpenFile.keepUnwrittenPages(database) }
            return steps
        }
        folder = try SharedFolder(besideDatabaseAt: path)
        let identity = try FileIdentity(of: path)
        try LogOwner.record(at: path, in: folder) {
            try pool.writeWithoutTransaction { try OpenFile.requireStill($0, at: path) }
        }
        let (time, random) = (options.time, options.random)
        let writerLock = try WriterLock(folder)
        let timings = WriteTimings()
        let flusher = ownsPool ? try Flusher(path, timings: timings, flush: options.flush) : nil
        let access = DatabaseAccess(
            path: path, identity: identity, companions: OpenCompanions(of: path), pool: pool, writerLock: writerLock,
            flusher: flusher, busyMax: options.busyMax, timings: timings)
        self.access = access
        let locks = FolderLocks(folder: folder)
        let suspension = MachineSuspension(asleep: options.asleep)
        let doorbell = try Doorbell(folder)
        self.doorbell = doorbell
        let hearsRingsAlone = options.hearsRingsAlone
        listener = ChangeListener(database: path, folder: folder, doorbell: doorbell) { [folder] in
            if hearsRingsAlone { return NothingElse() }
            return ChangePoller(
                path: path, tables: access.tables, folder: folder, time: time, suspension: suspension,
                requireFile: access.requireFile)
        }
        let writer = try GroupWriter(busyMax: options.busyMax) { writer in
            TransactionRunner(writer, access: access, time: time, random: random, doorbell: doorbell).run()
        }
        core = SQLStoreCore(
            writer: writer, worker: WorkerIdentity(locks, name: options.workerName, time: time), locks: locks,
            suspension: suspension, time: time, random: random, wakeups: doorbell.wakeups, doorbell: doorbell,
            afterStep: options.afterStep, requireStill: access.requireStill,
            requireFlushes: { if let refusal = flusher?.refusal { throw refusal } },
            giveBack: FreePages.giveBack, read: access.read)
    }

    deinit {
        listener.stop()
        core.writer.stop()
    }

    /// Rings after every change that a waiter may be waiting for. The first use begins to listen to other processes.
    public var changes: Wakeups {
        listener.start()
        return doorbell.wakeups
    }

    /// Once this store watches the file for all tasks that wait, they need not look: no message is lost to a task that sleeps on.
    public var lookInterval: Duration {
        listener.hearsEverything ? .seconds(60) : .milliseconds(250)
    }

    /// How long this process has waited for the disk, and for other processes that write.
    public var timings: StoreTimings { access.timings.now }

    /// Finishes what was begun, gives back what this process has leased, and lets go of the file. A store that has
    /// leased nothing waits for other processes for a tenth of a second at most, and for none if it has claimed nothing either.
    ///
    /// - Throws: what the storage reported when the leases could not be given back. The store is closed all the same,
    ///   and what it had leased goes back in line as after its death.
    public func close() async throws {
        // The last to let go of the file puts its write-ahead log away, which one that only reads cannot.
        await listener.end()
        // Those who wait look once more, and learn that the store was closed.
        defer { doorbell.wakeups.ring(nil) }
        do {
            try await core.close { [worker = core.worker, access] connection in
                if let connection = connection as? SQLiteConnection,
                    access.write(within: .milliseconds(100), connection, { try worker.unregister(connection) })
                {
                    worker.letGo()
                }
            }
        } catch {
            throw access.translated(error)
        }
    }

    /// Stops as a killed process does: nothing is given back, nothing is closed in good order, and the lock goes. For
    /// tests of crashes.
    package func crash() async {
        await listener.end()
        await core.writer.close()
        core.worker.die()
    }
}
