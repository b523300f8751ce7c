import GRDB
import PenstockCore

/// How a connection of an application's has its commits flushed.
///
/// It is the application's: it is only ever made stricter, and put back. SQLite takes another one outside of a transaction alone.
struct FlushLevel: Equatable {
    #if canImport(Darwin)
        /// Whether a flush ends in the drive's cache unless SQLite is told otherwise. It forgets its plans for all statements of the
        /// connection whenever it is told, which is little beside such a flush.
        static let flushesEndInCache = true
    #else
        static let flushesEndInCache = false
    #endif

    /// `PRAGMA synchronous` = FULL: the WAL is flushed at each COMMIT. With NORMAL, before a checkpoint only.
    static let full = 2

    var synchronous: Int
    /// `PRAGMA fullfsync`: whether a flush goes through the drive's cache; `nil` where each does.
    var fullfsync: Bool?

    init(synchronous: Int, fullfsync: Bool? = nil) {
        self.synchronous = synchronous
        self.fullfsync = fullfsync
    }

    /// That of `database`; `nil` when SQLite does not say.
    init?(of database: Database, flushesEndInCache: Bool = FlushLevel.flushesEndInCache) throws {
        guard let synchronous = try Int.fetchOne(database, sql: "PRAGMA synchronous") else { return nil }
        self.synchronous = synchronous
        fullfsync = try flushesEndInCache ? Int.fetchOne(database, sql: "PRAGMA fullfsync") == 1 : nil
    }

    /// The same, or the next one by which a commit is on the disk.
    var strict: FlushLevel {
        FlushLevel(synchronous: max(synchronous, Self.full), fullfsync: fullfsync.map { _ in true })
    }

    /// What a commit survives.
    var durability: Durability { self == strict ? .powerLoss : .processCrash }

    /// Has commits on `database` flush.
    ///
    /// - Returns: what to set after the transaction; `nil`: nothing.
    static func raise(
        _ database: Database, flushesEndInCache: Bool = FlushLevel.flushesEndInCache
    ) throws -> FlushLevel? {
        guard let level = try FlushLevel(of: database, flushesEndInCache: flushesEndInCache), level != level.strict
        else { return nil }
        try level.strict.set(database)
        return level
    }

    func set(_ database: Database) throws {
        try database.execute(sql: "PRAGMA synchronous = \(synchronous)")
        if let fullfsync { try database.execute(sql: "PRAGMA fullfsync = \(fullfsync ? 1 : 0)") }
    }
}
