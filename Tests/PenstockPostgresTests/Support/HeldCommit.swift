@testable import PenstockPostgres

/// Holds the COMMIT of each transaction that writes a table, at the server, for as long as a test wants.
final class HeldCommit {
    private let server: ServerConnection
    /// The number of the lock for which a COMMIT waits: the table's.
    private let lock: String

    /// - Parameter table: its name, with its schema.
    init(of table: String, at url: String) throws {
        server = try ServerConnection(ServerAddress(url))
        lock = "'\(table)'::regclass::oid::bigint"
        try server.run("SELECT pg_advisory_lock(\(lock))")
        try server.run(
            """
            CREATE FUNCTION \(table)_held() RETURNS TRIGGER LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_advisory_xact_lock(\(lock));
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER held AFTER INSERT OR UPDATE ON \(table) DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION \(table)_held()
            """)
    }

    /// The sessions whose COMMIT waits, in SQL.
    private var waiting: String {
        "FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = 0 AND CAST(objid AS BIGINT) = \(lock)"
    }

    /// Whether a COMMIT waits.
    var isReached: Bool {
        get throws { try server.run("SELECT 1 \(waiting)").rowCount > 0 }
    }

    /// Ends the sessions whose COMMIT waits, which comes to nothing with them.
    func endSessions() throws { try server.run("SELECT pg_terminate_backend(pid) \(waiting)") }

    /// Lets all of them through from now on.
    func letGo() throws { try server.run("SELECT pg_advisory_unlock(\(lock))") }
}
