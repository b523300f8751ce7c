import PenstockCore
import PenstockSQL
import Synchronization

/// Which tables of Penstock's an open file has. One that somebody drops is missed only by a statement that asks for it, and a
/// task that waits for messages may ask for none of it for ever.
final class KnownTables: Sendable {
    private struct Seen {
        /// SQLite's own count of changes to the schema.
        var version: Int64
        var names: Set<String>
        var loss: PenstockError?
    }

    private let seen = Mutex<Seen?>(nil)

    /// Throws when a ``look(_:_:)`` has found that a table is gone. Asks nothing of SQLite.
    func requireStill() throws {
        if let loss = seen.withLock({ $0?.loss }) { throw loss }
    }

    /// Looks whether all tables are there that were at the look before. While nobody has changed the schema, that is one
    /// number to ask for.
    ///
    /// - Throws: `corrupt` when one is gone; `newerSchema` when a newer program has taken it away.
    func look(_ connection: SQLiteConnection, _ path: String) throws {
        try requireStill()
        let version = try connection.integer(Self.version) ?? 0
        let before = seen.withLock { $0 }
        // Less is an older snapshot's, which began before another thread looked.
        if let before, version <= before.version { return }
        let names = Set(try connection.all(Self.names) { $0.text(0) ?? "" })
        let loss = before?.names.subtracting(names).min().map { self.loss(of: $0, connection, path) }
        seen.withLock { if version > $0?.version ?? .min { $0 = Seen(version: version, names: names, loss: loss) } }
        try requireStill()
    }

    private func loss(of table: String, _ connection: SQLiteConnection, _ path: String) -> PenstockError {
        do {
            _ = try SchemaMigrator(path: path).refuseNewer(connection.database)
        } catch let error as PenstockError {
            return error
        } catch {}
        return PenstockError(
            .corrupt, "\(path) has lost a part of its schema (no such table: \(table)); restore it from a copy.")
    }

    private static let version = Query("PRAGMA schema_version")
    private static let names = Query(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name GLOB 'penstock_*'")
}
