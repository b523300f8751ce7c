/// One life of a server, from its start to its crash, or to the promotion of another one: `penstock_begin_incarnation` says what begins
/// with it.
enum Incarnation {
    /// Sees to it that this life has begun. Called at the beginning of each writer's connection.
    static func begin(_ server: ServerConnection) throws {
        let known = try server.run("SELECT 1 FROM penstock_incarnation WHERE started_at = pg_postmaster_start_time()")
        if known.rowCount > 0 { return }
        try server.run("BEGIN; SELECT penstock_write_lock(); SELECT penstock_begin_incarnation(); COMMIT")
    }
}
