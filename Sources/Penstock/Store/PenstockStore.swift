public import GRDB
public import Logging
public import Metrics
public import Tracing
internal import PenstockCore
internal import PenstockSQLite

/// A store of queues: what a program opens once and shares.
///
/// It wraps any `MessageStore`, and adds what a process has only one of: the lines of waiting producers, the pace at
/// which lost work is looked for, loggers and metrics. Copies are the same store. Everything may be called from
/// any task.
///
/// ```swift
/// let store = try await PenstockStore.open(path: "shop.db")
/// let orders = try await store.queue("orders", of: Order.self)
/// try await orders.enqueue(order)
/// ```
public struct PenstockStore: Sendable {
    /// What a store can be told.
    public struct Options: Sendable {
        /// What messages survive, unless the call says otherwise.
        public var durability: Durability
        /// Where to say what happens; `nil`: nowhere.
        public var logger: Logger?
        /// Where measurements go; `nil`: to the factory that the program bootstrapped. All of them are of this process,
        /// and have the dimension `queue`.
        ///
        /// | name | kind | counts or measures |
        /// |---|---|---|
        /// | `penstock.enqueued` | counter | messages accepted, dropped arrivals included, skipped ones not |
        /// | `penstock.skipped` | counter | messages not enqueued because another has their unique key |
        /// | `penstock.dropped` | counter | messages that overflow dropped: arrivals, and those displaced by arrivals |
        /// | `penstock.claimed` | counter | messages leased by this process |
        /// | `penstock.done` | counter | messages finished |
        /// | `penstock.retried` | counter | failed attempts that another one follows |
        /// | `penstock.dead` | counter | messages that became dead letters |
        /// | `penstock.released` | counter | messages given back unworked |
        /// | `penstock.suspended` | counter | attempts that stopped to wait for a moment or an event, and go on then; messages of kinds that a worker does not know |
        /// | `penstock.lease_lost` | counter | settles that came after the lease had ended |
        /// | `penstock.store_errors` | counter | calls of workers, readers and streams that the store failed and that are made again |
        /// | `penstock.wait` | timer | from the acceptance of a message to its claim |
        /// | `penstock.work` | timer | how long a worker's handler ran |
        /// | `penstock.running` | gauge | handlers that run now |
        /// | `penstock.depth` | gauge | messages by state (dimension `state`), whenever somebody asks for the status |
        /// | `penstock.ready_age` | gauge | seconds that the oldest ready message has been ready, whenever somebody asks for the status |
        /// | `penstock.lease_age` | gauge | seconds since the oldest lease was claimed, whenever somebody asks for the status |
        public var metrics: (any MetricsFactory)?
        /// What traces messages; `nil`: the tracer that the program has bootstrapped by the time that it makes the store, if it has.
        ///
        /// There is a span `send QUEUE` around each enqueue, whose context goes into the messages' headers unless they have one, and a
        /// span `process QUEUE` around each handler of a worker, with a link to that. Their attributes are those of OpenTelemetry's
        /// conventions for messaging.
        public var tracer: (any Tracer)?
        /// Where the time comes from.
        public var time: any TimeSource
        /// Where chance comes from.
        public var random: any RandomSource
        /// Whether the store is opened to be written, or only to be read: then nothing is made, changed or locked, and
        /// calls that would write throw `readOnly`.
        public var access: StoreAccess
        /// Whether `open` makes the file when there is none, and the tables in an empty one, if it may be written.
        public var createIfMissing: Bool
        /// What becomes of a file with an older schema when it is opened to be written. One that is only read is never
        /// changed.
        public var migration: MigrationPolicy
        /// What people see in the list of workers; `nil`: host and process number.
        public var workerName: String?

        /// Makes options: messages survive a power cut, the machine's clocks, and a file made at need.
        public init(
            durability: Durability = .powerLoss,
            logger: Logger? = nil,
            metrics: (any MetricsFactory)? = nil,
            tracer: (any Tracer)? = nil,
            time: any TimeSource = SystemTime(),
            random: any RandomSource = SystemRandom(),
            access: StoreAccess = .readWrite,
            createIfMissing: Bool = true,
            migration: MigrationPolicy = .automatic,
            workerName: String? = nil
        ) {
            self.durability = durability
            self.logger = logger
            self.metrics = metrics
            self.tracer = tracer
            self.time = time
            self.random = random
            self.access = access
            self.createIfMissing = createIfMissing
            self.migration = migration
            self.workerName = workerName
        }
    }

    let handle: StoreHandle

    /// Takes any store: one in memory in tests, or one of another kind.
    public init(_ storage: any MessageStore, options: Options = Options()) {
        handle = StoreHandle(
            storage, time: options.time, random: options.random, durability: options.durability, logger: options.logger,
            metrics: options.metrics, tracer: options.tracer)
    }

    /// What messages are kept in.
    public var storage: any MessageStore { handle.storage }

    /// The names of the steps of the schema that were applied as its file was opened.
    package var appliedSteps: [String] { (storage as? SQLiteStore)?.appliedSteps ?? [] }

    /// The clocks that it goes by.
    package var time: any TimeSource { handle.time }
    package var durability: Durability { handle.durability }

    /// Finishes what was begun and lets go of the file. Leases that are still held go back in line.
    ///
    /// Workers and readers are to be stopped before: afterwards everything throws `closed`.
    public func close() async throws {
        await handle.backgroundTasks.finish()
        try await handle.storage.close()
    }
}

extension PenstockStore {
    /// Opens the SQLite file at `path`, makes it when there is none, and brings it to the newest schema; the options say
    /// otherwise of each.
    ///
    /// With `access: .readOnly` the file and its folder stay as they are, nothing is locked and nobody is waited for. So a
    /// program can look at a file that it may not write, also in a folder that nobody may write, and at one whose
    /// schema is a little older.
    ///
    /// ```swift
    /// let store = try await PenstockStore.open(path: "shop.db", options: .init(access: .readOnly))
    /// print(try await store.queues().map(\.depths.ready))
    /// ```
    ///
    /// - Throws: `PenstockError` with code `notFound` (there is none and the options do not allow making it),
    ///   `notADatabase`, `newerSchema`, `olderSchema` (it is not to be migrated, and has not what is needed), `readOnly`,
    ///   `diskFull`, `corrupt` or `busy`. A file that is refused is left untouched.
    public static func open(path: String, options: Options = Options()) async throws -> PenstockStore {
        switch options.access {
        case .readOnly:
            PenstockStore(try await SQLiteReader.open(path: path, time: options.time), options: options)
        case .readWrite:
            PenstockStore(try await SQLiteStore.open(path: path, options: options.ofSQLite), options: options)
        }
    }

    /// Opens the store in an application's own database, beside the application's tables.
    ///
    /// The pool stays the application's: ``close()`` leaves it open, and it must stay open until then.
    ///
    /// - Throws: as ``open(path:options:)``.
    public static func open(_ pool: DatabasePool, options: Options = Options()) async throws -> PenstockStore {
        switch options.access {
        case .readOnly:
            PenstockStore(try await SQLiteReader.open(pool, time: options.time), options: options)
        case .readWrite:
            PenstockStore(try await SQLiteStore.open(pool: pool, options: options.ofSQLite), options: options)
        }
    }
}

extension PenstockStore.Options {
    fileprivate var ofSQLite: SQLiteStore.Options {
        SQLiteStore.Options(
            time: time, random: random, createIfMissing: createIfMissing, migration: migration, workerName: workerName)
    }
}
