/// One life of a server, from its start to its crash, or to the promotion of another one.
///
/// What was committed without a flush is lost with a life, though readers may have seen it. So a new life gives no sequence
/// numbers that the last one may have given: it begins far ahead of them. A table without a log says which life it is: the server
/// empties it when it recovers, and a standby has none of its rows.
enum Incarnation {
    /// Sees to it that the numbers of this life are its own. Called at the beginning of each writer's connection.
    static func begin(_ server: ServerConnection) throws {
        let known = try server.run("SELECT 1 FROM penstock_incarnation WHERE started_at = pg_postmaster_start_time()")
        if known.rowCount > 0 { return }
        try server.run(
            """
            BEGIN; SELECT penstock_write_lock();
            UPDATE penstock_state SET last_sequence = last_sequence + \(gap) WHERE id = 1 AND last_sequence > 0
                AND NOT EXISTS (SELECT 1 FROM penstock_incarnation WHERE started_at = pg_postmaster_start_time());
            DELETE FROM penstock_incarnation WHERE started_at <> pg_postmaster_start_time();
            INSERT INTO penstock_incarnation (started_at) VALUES (pg_postmaster_start_time()) ON CONFLICT DO NOTHING;
            COMMIT
            """)
    }

    /// Further than a store gets between two flushes.
    private static let gap: Int64 = 1 << 32
}
