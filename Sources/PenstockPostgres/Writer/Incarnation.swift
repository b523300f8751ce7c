/// One life of a server, from its start to its crash, or to the promotion of another one: `penstock_begin_incarnation` says what begins
/// with it.
enum Incarnation {
    /// Sees to it that this life has begun. Called at the beginning of each writer's connection.
    ///
    /// Waits until that is on the disk and on the standbys that the server waits for: where it is lost, the next life begins with the
    /// same numbers.
    static func begin(_ server: ServerConnection) throws {
        let known = try server.run("SELECT 1 FROM penstock_incarnation WHERE started_at = pg_postmaster_start_time()")
        if known.rowCount > 0 { return }
        try server.run(
            """
            BEGIN; SET LOCAL synchronous_commit = on; SELECT penstock_write_lock(); SELECT penstock_begin_incarnation(); COMMIT
            """)
    }
}
