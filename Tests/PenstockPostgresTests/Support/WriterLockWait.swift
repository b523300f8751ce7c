@testable import PenstockPostgres

extension ServerConnection {
    /// Whether a session waits for the writer lock of the store in this one's search path; those of other stores have another number.
    var hasWaiter: Bool {
        get throws {
            try run(
                """
                SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = 'penstock_state'::regclass::oid
                """
            ).rowCount > 0
        }
    }
}
