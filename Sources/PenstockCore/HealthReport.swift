/// What an inspection of a store's file found. The numbers say how it stands; ``findings`` say what is not as it
/// should be, and what to do about it.
///
/// A part that could not be read, because the file is damaged or its schema is not this program's, is `nil` or zero,
/// and a finding says so.
public struct HealthReport: Sendable {
    /// The file's path.
    public var path: String
    /// The version of the schema in the file; 0 when it has none of Penstock's tables, `nil` when it cannot be read.
    public var schemaVersion: Int?
    /// The newest schema version that this program knows.
    public var schemaVersionKnown: Int
    /// How the file stands. Of a store at a server nothing is said here.
    public var file = FileHealth()
    /// How the server stands; `nil` of a file.
    public var server: ServerHealth?
    /// Messages of living workers whose lease has ended, and that no ``MessageStore/reclaim()`` has put back yet.
    public var expiredLeases = 0
    /// Workers whose process is dead and that still have a row: the next reclaim puts their messages back.
    public var deadWorkers: [WorkerRecord] = []
    /// Workers that live, and that hold a message for longer than was asked about.
    public var stuckWorkers: [WorkerRecord] = []
    /// What is not as it should be, worst first. Empty when all is well.
    public var findings: [HealthFinding] = []
    /// What nothing can be said of, as the look at it was not carried out to its end.
    package var unchecked: Set<HealthFinding.Kind> = []

    /// Whether nothing was found that is worse than a note.
    public var isHealthy: Bool { findings.allSatisfy { $0.severity == .note } }

    /// Makes a report on `path` in which nothing was found yet.
    package init(path: String, schemaVersionKnown: Int) {
        self.path = path
        self.schemaVersionKnown = schemaVersionKnown
    }
}

/// How the server of a database stands.
public struct ServerHealth: Hashable, Sendable, Codable {
    /// Its version, in its words.
    public var version: String
    /// Whether it follows another one, and can only be read.
    public var isStandby: Bool
    /// Connections of clients to it, whoever they are.
    public var connectionCount: Int
    /// How many there may be, but for those that are kept for its superuser.
    public var connectionsMax: Int
    /// By how much its clock is ahead of this machine's; negative when it is behind.
    public var clockAhead: Duration
    /// Bytes of the store's tables and their indexes.
    public var bytes: Int64

    package init(
        version: String, isStandby: Bool, connectionCount: Int, connectionsMax: Int, clockAhead: Duration, bytes: Int64
    ) {
        self.version = version
        self.isStandby = isStandby
        self.connectionCount = connectionCount
        self.connectionsMax = connectionsMax
        self.clockAhead = clockAhead
        self.bytes = bytes
    }
}

/// How a database's file and its write-ahead log stand.
public struct FileHealth: Hashable, Sendable, Codable {
    /// `wal`, as it should be, or another of SQLite's journal modes.
    public var journalMode = ""
    /// Whether pages of deleted messages can be given back to the file system (`auto_vacuum` is INCREMENTAL).
    public var givesBackPages = false
    /// Bytes in a page.
    public var pageBytes = 0
    /// Pages in the database, as committed.
    public var pageCount = 0
    /// Pages that hold nothing, and wait to be used again or given back.
    public var freePageCount = 0
    /// Bytes of the database's file itself.
    public var bytes: Int64 = 0
    /// Bytes of the write-ahead log beside it; 0 when there is none.
    public var walBytes: Int64 = 0
    /// Pages in the write-ahead log that count, as the last checkpoint saw it; `nil` when none could be tried.
    public var walPages: Int?
    /// Those of them that are in the database's file by now. When they are fewer than ``walPages``, a reader that
    /// has not ended its transaction holds the log, which grows until it does.
    public var walPagesCheckpointed: Int?

    /// Makes the numbers of a file that was not looked at yet.
    package init() {}
}

/// One thing that is not as it should be.
public struct HealthFinding: Hashable, Sendable, Codable {
    /// How bad it is.
    public enum Severity: String, Sendable, Codable, CaseIterable {
        /// Data is damaged or at risk.
        case error
        /// Something does not go on as it should.
        case warning
        /// Worth knowing.
        case note
    }

    /// What was found, as a value to switch over. New ones may come: keep a `default`.
    public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        /// The kind as text.
        public let rawValue: String

        /// Makes the kind `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// SQLite's own check of the file's structure failed.
        public static let damaged = Kind(rawValue: "damaged")
        /// Some of the checks could not be carried out.
        public static let unreadable = Kind(rawValue: "unreadable")
        /// The file has no Penstock tables, or not yet all of them.
        public static let olderSchema = Kind(rawValue: "olderSchema")
        /// The file's schema is newer than this program knows.
        public static let newerSchema = Kind(rawValue: "newerSchema")
        /// The file does not use a write-ahead log.
        public static let journalMode = Kind(rawValue: "journalMode")
        /// The file never gives pages back.
        public static let keepsPages = Kind(rawValue: "keepsPages")
        /// A reader holds the write-ahead log, or the log is large.
        public static let walHeld = Kind(rawValue: "walHeld")
        /// Leases have ended and were not put back.
        public static let expiredLeases = Kind(rawValue: "expiredLeases")
        /// Dead workers hold messages.
        public static let deadWorkers = Kind(rawValue: "deadWorkers")
        /// A living worker has held a message for long.
        public static let stuckWorkers = Kind(rawValue: "stuckWorkers")
        /// A worker's row names a file that no worker makes.
        public static let wrongWorkers = Kind(rawValue: "wrongWorkers")
        /// A queue's depths are not the number of its rows.
        public static let wrongDepths = Kind(rawValue: "wrongDepths")
        /// A message has no place in the line, or several, or the line has a message that the log does not know.
        public static let misplaced = Kind(rawValue: "misplaced")
        /// A unique key is held by a message that does not have it, or not held by one that does.
        public static let wrongKeys = Kind(rawValue: "wrongKeys")
        /// Permits of groups that messages have wrongly, or do not have.
        public static let wrongPermits = Kind(rawValue: "wrongPermits")
        /// A message that is to expire would not, or another one would, or at another time.
        public static let wrongExpiry = Kind(rawValue: "wrongExpiry")
        /// Sequence numbers that were given would be given again.
        public static let wrongSequence = Kind(rawValue: "wrongSequence")
        /// A number is so large or so small that no program can have counted it.
        public static let wrongNumbers = Kind(rawValue: "wrongNumbers")
        /// A table, an index, a view or a trigger of the schema is missing, or is not as it was made; or a schema of a database was renamed,
        /// and its functions go by the name before.
        public static let wrongSchema = Kind(rawValue: "wrongSchema")
        /// The folder beside the file, a file in it, or SQLite's log is damaged or has a wrong owner or mode; or the folder is missing under
        /// workers.
        public static let wrongFolder = Kind(rawValue: "wrongFolder")
        /// The file has several names, or was mounted by itself, and so can only be read.
        public static let otherNames = Kind(rawValue: "otherNames")
        /// The headers of a message cannot be read, and count as none, or break the rules for headers.
        public static let wrongHeaders = Kind(rawValue: "wrongHeaders")
        /// A time is one that no clock can have shown.
        public static let wrongTimes = Kind(rawValue: "wrongTimes")
        /// The queues move to another store, or have moved there.
        public static let storeMoved = Kind(rawValue: "storeMoved")
        /// Queues are copied here from another store, and not all of it has come.
        public static let copyUnfinished = Kind(rawValue: "copyUnfinished")
        /// A queue's deletion has begun and is not finished.
        public static let deletionUnfinished = Kind(rawValue: "deletionUnfinished")
        /// Rows that contradicted the rest were set aside.
        public static let quarantined = Kind(rawValue: "quarantined")
        /// A cursor is of no queue, or at a place that no log has come to.
        public static let strayCursor = Kind(rawValue: "strayCursor")
        /// A schedule is of no queue.
        public static let straySchedule = Kind(rawValue: "straySchedule")
        /// A schedule says more than one may say, and goes by the bound.
        public static let wrongSchedule = Kind(rawValue: "wrongSchedule")
        /// A pooler gives a server's session to another client with each transaction.
        public static let pooled = Kind(rawValue: "pooled")
        /// The server may lose or damage what it has said is on its disk.
        public static let unsafeServer = Kind(rawValue: "unsafeServer")
        /// A standby does not have what was acknowledged, or one that has to confirm is not there.
        public static let asynchronousStandby = Kind(rawValue: "asynchronousStandby")
        /// A transaction, a slot or a standby keeps dead rows from being removed.
        public static let vacuumHeld = Kind(rawValue: "vacuumHeld")
        /// Nobody removes dead rows.
        public static let noVacuum = Kind(rawValue: "noVacuum")
        /// A table has more dead rows than living ones, or far more bytes than rows.
        public static let bloated = Kind(rawValue: "bloated")
        /// The clocks of the server and of this machine are apart.
        public static let wrongClock = Kind(rawValue: "wrongClock")
        /// The server has few connections left.
        public static let fewConnections = Kind(rawValue: "fewConnections")
        /// A session has the right to write, and does nothing.
        public static let writerHeld = Kind(rawValue: "writerHeld")
        /// The role may not do what a worker does.
        public static let missingRights = Kind(rawValue: "missingRights")
        /// The counter that numbers a table's rows has not come as far as these: they came by replication, which leaves it behind.
        public static let counterBehind = Kind(rawValue: "counterBehind")
        /// The role sees nothing of what the sessions of other roles do, nor how standbys stand.
        public static let unseenSessions = Kind(rawValue: "unseenSessions")
    }

    /// What was found.
    public var kind: Kind
    /// How bad it is.
    public var severity: Severity
    /// One sentence for people: what is wrong and, where there is something, what to do.
    public var message: String
    /// The queue it is about, if it is about one.
    public var queue: QueueName?

    /// Makes a finding.
    package init(_ kind: Kind, _ severity: Severity, _ message: String, queue: QueueName? = nil) {
        self.kind = kind
        self.severity = severity
        self.message = message
        self.queue = queue
    }
}
