import GRDB
import PenstockCore
import PenstockProcesses
import PenstockSQL

/// Sees what nobody rings for: what other programs write into the file, rings that were lost with the process that owed
/// them, workers that died and leases that ended.
///
/// While nothing was committed, a look is one question to SQLite. It belongs to one thread.
final class ChangePoller: ChangePolling {
    private let path: String
    private let requireFile: @Sendable () throws -> Void
    /// What this finds of the tables, for the store.
    private let tables: KnownTables
    private let folder: SharedFolder
    private let time: any TimeSource
    private let suspension: MachineSuspension?
    private var database: DatabaseQueue?
    private var connection: SQLiteConnection?
    private var version: Int64?
    private var heldWork = HeldWork()
    /// Whether the ends of tasks are not told yet to all that wait for them.
    private var isCascading = false

    init(
        path: String, tables: KnownTables = KnownTables(), folder: SharedFolder, time: any TimeSource,
        suspension: MachineSuspension? = nil, requireFile: @escaping @Sendable () throws -> Void = {}
    ) {
        self.path = path
        self.requireFile = requireFile
        self.tables = tables
        self.folder = folder
        self.time = time
        self.suspension = suspension
    }

    /// Looks.
    ///
    /// - Parameter forTheDead: whether to ask the kernel which workers live.
    /// - Throws: `fileReplaced` when the file has lost its name: no commit in it will ever be seen again; `corrupt` when it
    ///   has lost a table.
    func look(forTheDead: Bool) throws -> ChangesSeen {
        try requireFile()
        let database = try opened()
        var sight = try database.unsafeReentrantWrite { database in
            let connection = self.connection ?? SQLiteConnection(database, isPassing: false)
            self.connection = connection
            return try look(connection)
        }
        let now = time.boot
        sight.nextEnd = heldWork.untilNextEnd(at: now)
        // Whoever looks for lost work goes on with what another process left.
        sight.hasLostWork =
            isCascading
            || heldWork.isLost(
                at: now, FolderLocks(folder: folder), forTheDead: forTheDead,
                sparesLiving: suspension?.isJustOver(at: now) == true)
        return sight
    }

    /// Lets go of the file.
    func close() {
        database?.unsafeReentrantWrite { _ in connection = nil }
        try? database?.close()
        database = nil
    }

    private func look(_ connection: SQLiteConnection) throws -> ChangesSeen {
        var sight = ChangesSeen()
        let version = try connection.integer(Self.dataVersion)
        if version != self.version {
            try tables.look(connection, path)
            sight.hasChanged = true
            sight.buckets = try connection.all(Self.waiting) { row in
                RingBucket.of(QueueName(stored: row.text(0) ?? ""))
            }
            heldWork = try HeldWork(connection)
            isCascading = try Cascade.isUnfinished(connection)
            self.version = version
        }
        return sight
    }

    /// A connection of its own, as `data_version` speaks of what others than the connection have written.
    private func opened() throws -> DatabaseQueue {
        if let database { return database }
        let opened = try DatabaseQueue(path: path, configuration: Configuration("watch", readonly: true))
        database = opened
        return opened
    }

    private static let dataVersion = Query("PRAGMA data_version")
    /// The queues at which a worker may have something to do. An application that has SQLite gather statistics (`ANALYZE`) would have it go
    /// through all that expires for each queue, at each look of an idle worker, if the index were not named.
    static let waiting = Query(
        """
        SELECT queue.name FROM penstock_depth AS depth JOIN penstock_queue AS queue ON queue.id = depth.queue_id
        WHERE depth.ready > 0 OR depth.scheduled > 0
        UNION
        SELECT queue.name FROM penstock_schedule AS schedule JOIN penstock_queue AS queue ON queue.id = schedule.queue_id
        WHERE schedule.paused = 0 AND schedule.next_due IS NULL
        UNION
        SELECT queue.name FROM penstock_regroup AS noted JOIN penstock_queue AS queue ON queue.id = noted.queue_id
        UNION
        SELECT queue.name FROM penstock_queue AS queue
        WHERE EXISTS (SELECT 1 FROM penstock_group_rate WHERE queue_id = queue.id AND opens_at IS NOT NULL)
            OR EXISTS (SELECT 1 FROM penstock_expiry INDEXED BY penstock_expiry_first WHERE queue_id = queue.id)
        """)
}
