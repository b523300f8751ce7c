public import PenstockCore
import PenstockProcesses
public import PenstockSQL

/// A `MessageStore` in a schema of a PostgreSQL database, for any number of processes of any number of machines.
///
/// Guarantees, beyond the protocol's:
/// - A call with durability `powerLoss` is on the server's disk when it returns and, where the server waits for standbys
///   (`synchronous_standby_names`), on theirs.
/// - A call whose answer was lost with its connection is found again or made again, on the same server or on one that was promoted
///   meanwhile: it takes effect once, or ends with `outcomeUnknown`.
/// - All processes go by the server's clock.
/// - The messages of a process that dies are given back at the first `reclaim()` after its death.
///
/// Differences from a file: `processCrash` survives the death of every process of Penstock's, but the last moments before a crash of
/// the server may be lost with it; and a transaction of the application's own that enqueues or settles is one of
/// `PenstockStore.transaction`, or has SQL do it (`INSERT INTO penstock_messages`, `penstock_done`).
public final class PostgresStore: SQLStore {
    /// How to open a store.
    public struct Options: Sendable {
        /// The clocks; `nil`: the server's, which all processes share.
        public var time: (any TimeSource)?
        /// Where tokens and jitter come from.
        public var random: any RandomSource
        /// Whether the store is opened to be written, or only to be read: then nothing is made or changed, calls that would
        /// write throw `readOnly`, and a standby will do.
        public var access: StoreAccess
        /// Whether the tables are made where there are none.
        public var createIfMissing: Bool
        /// What becomes of tables of an older schema.
        public var migration: MigrationPolicy
        /// What people see in the list of workers; `nil`: host and process number.
        public var workerName: String?
        /// How long other programs may be in the way, or the server be away, before calls end with an error.
        package var busyMax = Duration.seconds(30)
        /// How long another process of this machine is waited for that may be stopped, or waits for a server that does not answer. Then
        /// each goes to the server by itself.
        package var lockWaitMax = Duration.milliseconds(300)
        /// Called between the steps of a call that works in several transactions. For tests.
        package var afterStep: (@Sendable () async throws -> Void)?
        /// Whether waiters are woken by rings alone, and not by what a look at the server finds that nobody has rung for. For tests.
        package var hearsRingsAlone = false

        /// Makes options: the server's clock, the system's generator, and tables made at need.
        public init(
            time: (any TimeSource)? = nil, random: any RandomSource = SystemRandom(),
            access: StoreAccess = .readWrite, createIfMissing: Bool = true,
            migration: MigrationPolicy = .automatic, workerName: String? = nil
        ) {
            self.time = time
            self.random = random
            self.access = access
            self.createIfMissing = createIfMissing
            self.migration = migration
            self.workerName = workerName
        }
    }

    /// What the operations work with.
    public let core: SQLStoreCore
    private let sessions: Sessions
    private let readers: ReaderPool
    let transactions: TransactionPool
    private let bell: ServerBell
    private let host: SameHost?
    /// Hears the other processes of this machine.
    private let neighbours: ChangeListener?
    private let isReadOnly: Bool

    /// Opens the store at `url`, and brings its tables to the newest schema unless the options say otherwise.
    ///
    /// - Parameters:
    ///   - url: `postgres://USER@HOST:PORT/DATABASE`, with any of libpq's parameters and `schema=NAME` (else `penstock`). What it
    ///     leaves out is taken from the environment and `~/.pgpass`, as by `psql`.
    ///   - options: clocks, what is made or migrated, and whether it is only read.
    /// - Throws: `PenstockError` with code `invalidInput`, `unreachable`, `forbidden`, `notFound`, `notADatabase`, `newerSchema`,
    ///   `olderSchema`, `readOnly` or `busy`.
    public static func open(url: String, options: Options = Options()) async throws -> PostgresStore {
        let address = try ServerAddress(url, access: options.access)
        return try await SystemThread.run {
            try ServerFailures.translating(address) {
                let migrator = try SchemaMigrator(address, busyMax: options.busyMax)
                switch options.access {
                case .readOnly: try migrator.refuseUnreadable()
                case .readWrite:
                    try migrator.prepare(createIfMissing: options.createIfMissing, migration: options.migration)
                }
                return try PostgresStore(address, options, migrator.server)
            }
        }
    }

    /// Makes the tables at `url` where there are none, brings those of an older schema up to date, and does nothing else. All of it is
    /// one transaction.
    ///
    /// - Parameter url: as of ``open(url:options:)``. Its role needs the right to create in the schema.
    /// - Returns: the names of the steps that were applied.
    /// - Throws: as ``open(url:options:)``.
    public static func migrate(url: String) async throws -> [String] {
        let address = try ServerAddress(url)
        return try await SystemThread.run {
            try ServerFailures.translating(address) {
                try SchemaMigrator(address, busyMax: Options().busyMax).migrate()
            }
        }
    }

    private init(_ address: ServerAddress, _ options: Options, _ server: ServerConnection) throws {
        let sessions = Sessions(address, busyMax: options.busyMax)
        self.sessions = sessions
        // What callers say of times is looked at before anything is asked of the server.
        try sessions.clock.read(server)
        let time = options.time ?? sessions.clock
        let random = options.random
        let readers = ReaderPool(sessions)
        self.readers = readers
        let host = options.access == .readWrite ? SameHost(server, address) : nil
        self.host = host
        let neighbours = host.map { host in
            ChangeListener(database: nil, folder: host.folder.folder, doorbell: host.doorbell) { NothingElse() }
        }
        self.neighbours = neighbours
        let bell = try ServerBell(sessions, host: host, hearsRingsAlone: options.hearsRingsAlone) {
            neighbours?.hearsEverything == true
        }
        self.bell = bell
        transactions = TransactionPool(sessions, bell: bell)
        isReadOnly = options.access == .readOnly
        let refusal = Self.readOnly(address)
        let writer = try GroupWriter(busyMax: options.busyMax, refusal: isReadOnly ? refusal : nil) { writer in
            TransactionRunner(
                writer, sessions: sessions, time: time, random: random, bell: bell, host: host,
                lockWaitMax: options.lockWaitMax
            ).run()
        }
        if !isReadOnly {
            bell.carriesOutVerdicts { [weak writer] in
                Task { try? await writer?.perform(duringMove: .draining) { _ in } }
            }
        }
        core = SQLStoreCore(
            writer: writer, worker: WorkerIdentity(sessions.locks, name: options.workerName, time: time),
            locks: sessions.locks,
            // The server's clock goes on while nobody gets through to it, and leases end.
            suspension: MachineSuspension(asleep: { sessions.stalls.total }), time: time, random: random,
            wakeups: bell.wakeups, doorbell: host?.doorbell, afterStep: options.afterStep, requireStill: {},
            read: readers.read(_:))
    }

    private static func readOnly(_ address: ServerAddress) -> PenstockError {
        PenstockError(
            .readOnly, "\(address.description) was opened only to be read; open it for writing to change it.")
    }

    /// Runs `body` in a transaction of the application's own, as `PenstockStore.transaction` says.
    func transaction<Answer: Sendable>(
        durability: Durability, timeout: Duration, _ body: @escaping @Sendable (PostgresTransaction) throws -> Answer
    ) async throws -> Answer {
        try core.writer.refuseClosed()
        if isReadOnly { throw Self.readOnly(sessions.address) }
        return try await transactions.run(of: self, durability: durability, timeout: timeout, body)
    }

    deinit {
        neighbours?.stop()
        bell.stop()
        core.writer.stop()
    }

    /// Rings after every change that a waiter may be waiting for. The first use begins to listen to other processes.
    public var changes: Wakeups {
        neighbours?.start()
        bell.listen()
        return bell.wakeups
    }

    /// While this process is connected, or another one of this machine looks for all that wait, they need not: a worker's death is seen
    /// within half a second, and a quarter of a second later another one has its messages.
    public var lookInterval: Duration { bell.hearsEverything ? .seconds(60) : .milliseconds(250) }

    /// How long this process has waited for the server's disk, and for the other processes that write.
    public var timings: StoreTimings { sessions.timings.now }

    /// Finishes what was begun, gives back what this process has leased, and lets go of the server.
    ///
    /// - Throws: what the server reported when the leases could not be given back. The store is closed all the same, and what it
    ///   had leased goes back in line as after its death.
    public func close() async throws {
        await neighbours?.end()
        await bell.close()
        defer {
            readers.close()
            // Those who wait look once more, and learn that the store was closed.
            bell.wakeups.ring(nil)
        }
        await transactions.close()
        if let host { try? await SystemThread.run { host.folder.leave() } }
        // What has written nothing has nothing to give back, and perhaps no right to ask.
        if isReadOnly { return await core.writer.close() }
        let isWorker = core.worker.id != nil
        do {
            try await core.close(patience: Self.closeMax) { [worker = core.worker] connection in
                try worker.unregister(connection)
                worker.letGo()
            }
        } catch {
            // What has claimed nothing has nothing to give back.
            if isWorker { throw ServerFailures.translated(error, sessions.address) }
        }
    }

    /// How long a close waits for the server to take back what was leased. It does so by itself when the sessions are gone.
    private static let closeMax = Duration.seconds(5)

    /// Stops as a killed process does: nothing is given back, nothing is closed in good order, and the sessions go. For tests of
    /// crashes.
    ///
    /// - Returns: the number of the lock that goes with the sessions.
    @discardableResult
    package func crash() async -> Int32 {
        await neighbours?.end()
        await bell.close()
        await core.writer.close()
        readers.close()
        transactions.crash()
        core.worker.die()
        return sessions.locks.id
    }
}
