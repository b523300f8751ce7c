package import PenstockCore

/// A worker as its row says.
package struct WorkerRow: Sendable {
    package var id: Int64
    package var lockName: String
    /// The name of the clock on which its leases end.
    package var clockName: String
    /// When a worker asked for messages last that claims through another process, and has no lock; `nil`: it is a process.
    package var seenAt: Timestamp?

    package var isRemote: Bool { seenAt != nil }

    package static func all(_ connection: Connection) throws -> [WorkerRow] {
        try connection.all(select) { row in
            WorkerRow(
                id: row.integer(0), lockName: row.text(1) ?? "", clockName: row.text(2) ?? "",
                seenAt: row.optionalInteger(3).map(Timestamp.init(microseconds:)))
        }
    }

    /// The number of a row that was just written.
    static func id(of lockName: String, _ connection: Connection) throws -> Int64 {
        let id = try connection.integer(readID, .text(lockName))
        guard let id else {
            throw PenstockError(.storage, "The worker's row was not written; run `penstock doctor`.")
        }
        return id
    }

    /// The rows that name a file which no worker makes.
    package static func strays(unless isName: (String) -> Bool, _ connection: Connection) throws -> [WorkerRow] {
        try all(connection).filter { !$0.isRemote && !isName($0.lockName) }
    }

    static let delete = Query("DELETE FROM penstock_worker WHERE id = ?1")
    private static let readID = Query("SELECT id FROM penstock_worker WHERE lock_name = ?1")
    private static let select = Query(
        """
        SELECT id, lock_name, boot_id, (SELECT seen_at FROM penstock_remote_worker WHERE worker_id = worker.id)
        FROM penstock_worker AS worker
        """)
}
