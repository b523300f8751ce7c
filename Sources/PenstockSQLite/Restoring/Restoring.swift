import GRDB
public import PenstockCore
import PenstockProcesses
import PenstockSQL

/// Making a store out of a backup of one. None is replaced.
struct Restoring: Sendable {
    let backup: String
    let path: String
    let after: @Sendable (CopyStep) throws -> Void

    func perform() throws -> RestoreReport {
        let file = try NewFile(for: path, purpose: "restore")
        return try FileCopy(source: backup, file: file, path: path, after: after).perform { try prepare($0) }
    }

    /// Brings the copy to the newest schema, and takes out what must not come back.
    private func prepare(_ database: Database) throws -> RestoreReport {
        try SchemaMigrator(path: backup).migrate(database)
        var report = RestoreReport(path: path, backup: backup, nextSequence: SequenceNumber(1), released: 0)
        try database.inTransaction(.immediate) {
            report.nextSequence = SequenceNumber(try jump(database) + 1)
            try database.execute(sql: Self.cancel)
            try database.execute(sql: Self.takeKeys)
            try database.execute(sql: Self.release)
            report.released = database.changesCount
            try database.execute(sql: Self.expire)
            // What belongs to processes. A group that was paused while a worker had one of its messages is looked at.
            try database.execute(
                sql: """
                    DELETE FROM penstock_lease;
                    DELETE FROM penstock_cancel;
                    DELETE FROM penstock_progress;
                    DELETE FROM penstock_worker;
                    DELETE FROM penstock_remote_worker;
                    DELETE FROM penstock_answer;
                    INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
                        SELECT queue_id, group_key FROM penstock_permit;
                    """)
            // It is another store than the one of which the backup was made. One whose queues had moved stays closed, and says how
            // this file is opened again.
            try database.execute(
                sql: """
                    UPDATE penstock_store SET store_id = lower(hex(randomblob(16))),
                        moved_from = CASE WHEN moved_from IS NOT NULL THEN ? END
                    """, arguments: [path])
            try database.execute(sql: DepthCount.makeMissing)
            try database.execute(sql: DepthCount.countAll)
            return .commit
        }
        return report
    }

    /// Moves the last sequence number given ahead.
    ///
    /// - Returns: what it is now.
    private func jump(_ database: Database) throws -> Int64 {
        try database.execute(
            sql: "INSERT OR IGNORE INTO penstock_state (id, last_sequence, policy_version) VALUES (1, 0, 1)")
        let last = try Int64.fetchOne(database, sql: "SELECT last_sequence FROM penstock_state") ?? 0
        let known = max(last, try Int64.fetchOne(database, sql: "SELECT \(SequenceJump.known)") ?? 0)
        guard last >= 0, known <= SequenceJump.lastMax - SequenceJump.gap else {
            throw PenstockError(
                .corrupt,
                "\(backup) says that the last sequence number given is \(last < 0 ? last : known), which cannot be; run "
                    + "`penstock doctor --repair` on a copy of it. Nothing was made.")
        }
        try database.execute(
            sql: "UPDATE penstock_state SET last_sequence = ?, dropping = NULL", arguments: [known + SequenceJump.gap])
        return known + SequenceJump.gap
    }

    /// What a worker was asked to end is cancelled. Those that wait for it are told as after a crash, by any claim.
    private static let cancel = """
        INSERT OR IGNORE INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT queue_id, sequence, 'cancelled', 'requested', attempt, now FROM penstock_lease, penstock_now
        WHERE marks & \(Marks.cancelRequested.rawValue);
        INSERT OR REPLACE INTO penstock_cascade (workflow_id, sequence, after)
        SELECT 0, sequence, 0 FROM penstock_lease
        WHERE marks & \(Marks.cancelRequested.rawValue) AND marks & \(Marks.task.rawValue);
        UPDATE penstock_depth AS depth SET cancelled_total = cancelled_total + (SELECT count(*) FROM penstock_lease AS lease
            WHERE lease.queue_id = depth.queue_id AND marks & \(Marks.cancelRequested.rawValue));
        DELETE FROM penstock_unique WHERE sequence IN (SELECT sequence FROM penstock_lease
            WHERE marks & \(Marks.cancelRequested.rawValue));
        DELETE FROM penstock_lease WHERE marks & \(Marks.cancelRequested.rawValue)
        """

    /// A message that holds its unique key only while it waits has it again, unless another one has it by then.
    private static let takeKeys = """
        DELETE FROM penstock_unique_period WHERE until <= (SELECT now FROM penstock_now);
        INSERT OR IGNORE INTO penstock_unique (queue_id, unique_key, sequence)
        SELECT log.queue_id, log.unique_key, log.sequence FROM penstock_lease AS lease
        JOIN penstock_log AS log ON log.sequence = lease.sequence
        WHERE lease.marks & \(Marks.keyWhileWaiting.rawValue) AND log.unique_key IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM penstock_unique_period AS held
            WHERE held.queue_id = log.queue_id AND held.unique_key = log.unique_key)
        ORDER BY log.sequence;
        UPDATE penstock_lease AS lease SET marks = marks | \(Marks.uniqueKey.rawValue)
        WHERE marks & \(Marks.keyWhileWaiting.rawValue) AND EXISTS (
            SELECT 1 FROM penstock_log AS log JOIN penstock_unique AS held ON held.queue_id = log.queue_id
                AND held.unique_key = log.unique_key AND held.sequence = log.sequence
            WHERE log.sequence = lease.sequence)
        """

    /// As a worker that gives back what it has not worked: the attempt does not count. A message that has another place as
    /// well keeps that one.
    private static let release = """
        INSERT OR IGNORE INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks, ready_since)
        SELECT queue_id, priority,
            coalesce((SELECT turn FROM penstock_log AS log WHERE log.sequence = penstock_lease.sequence), 0), sequence, max(attempt, 1) - 1, min(forgiven, max(attempt, 1) - 1),
            marks & ~\(Marks.ofLease.rawValue), (SELECT now FROM penstock_now)
        FROM penstock_lease
        """

    /// Those of them that expire do so again.
    private static let expire = """
        INSERT OR REPLACE INTO penstock_expiry (sequence, queue_id, expires_at)
        SELECT log.sequence, log.queue_id, log.expires_at FROM penstock_lease AS lease
        JOIN penstock_log AS log ON log.sequence = lease.sequence
        JOIN penstock_ready AS ready ON ready.queue_id = log.queue_id AND ready.priority = log.priority
            AND ready.turn = log.turn AND ready.sequence = log.sequence
        WHERE log.expires_at IS NOT NULL AND ready.marks & \(Marks.expiry.rawValue)
        """
}

extension SQLiteStore {
    /// Makes a store at `path` out of the backup at `backup`, as `PenstockStore.restore` says.
    public static func restore(from backup: String, to path: String) async throws -> RestoreReport {
        try await restore(from: backup, to: path, after: { _ in })
    }

    /// - Parameter step: is called after each step. For tests, in which the process dies there.
    static func restore(
        from backup: String, to path: String, after step: @escaping @Sendable (CopyStep) throws -> Void
    ) async throws -> RestoreReport {
        try await SystemThread.run {
            let backup = try DatabasePath.existing(backup)
            let path = try DatabasePath.resolved(path)
            return try Restoring(backup: backup, path: path, after: step).perform()
        }
    }
}
