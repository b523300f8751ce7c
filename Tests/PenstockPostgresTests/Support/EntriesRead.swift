import PenstockTestKit

@testable import PenstockPostgres

/// How many entries of the indexes of the store's line all sessions have gone through that have ended. Waits until the others have.
func entriesRead(
    _ server: ServerConnection, _ address: ServerAddress,
    of tables: [String] = ["penstock_ready", "penstock_lease", "penstock_depth", "penstock_state", "penstock_writer"]
) async throws -> Int {
    let others = """
        SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
            AND CAST(classid AS BIGINT) = (CAST(\(Sessions.lockClass) AS BIGINT) & 4294967295)
        """
    try await eventually { try server.run(others).rowCount == 0 }
    let sum = try server.run(
        """
        SELECT sum(idx_tup_read)::BIGINT FROM pg_stat_user_indexes WHERE schemaname = '\(address.schema)'
            AND relname IN (\(tables.map { "'\($0)'" }.joined(separator: ", ")))
        """)
    return Int(sum.text(0, 0)) ?? 0
}
