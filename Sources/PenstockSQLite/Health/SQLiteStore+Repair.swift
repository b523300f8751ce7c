import GRDB
public import PenstockCore
import PenstockProcesses

extension SQLiteStore {
    /// Makes the file at `path` agree with itself again: what ``inspectHealth(path:stuckAfter:time:)`` finds of missing
    /// indexes, views and triggers, messages out of place, depths, unique keys, sequence numbers, headers, times, cursors
    /// and unfinished deletions; and after that the folder beside it, where a file is damaged or has a wrong mode.
    ///
    /// It is one transaction, and may be run beside running workers. What it takes away lies in `penstock_quarantine`
    /// afterwards, with the reason. It mends no damage to the file itself, and no lost table.
    ///
    /// - Parameters:
    ///   - path: the database's file.
    ///   - dryRun: whether only to say what would be done. The file is left as it is, but for the write lock, which is
    ///     held meanwhile.
    ///   - time: the clock by which the moment is noted.
    /// - Throws: ``PenstockError`` with code `notFound`, `notADatabase`, `readOnly`, `diskFull` or `busy`; `newerSchema`;
    ///   `olderSchema` when the file's schema is older than this program's; `corrupt` when SQLite finds the file
    ///   damaged. Then nothing was changed.
    public static func repair(
        path: String, dryRun: Bool = false, time: any TimeSource = SystemTime()
    ) async throws -> RepairReport {
        try await Blocking.run {
            let path = try DatabasePath.existing(path)
            do {
                return try repair(resolved: path, dryRun: dryRun, now: time.now)
            } catch {
                throw StorageErrors.translated(error, path: path)
            }
        }
    }

    private static func repair(resolved path: String, dryRun: Bool, now: Timestamp) throws -> RepairReport {
        var configuration = Configuration()
        configuration.label = "penstock repair"
        configuration.busyMode = .timeout(30)
        let file = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? file.close() }
        return try file.writeWithoutTransaction { database in
            try SchemaMigrator(path: path).refuseUnreadable(database)
            try SchemaMigrator(path: path).refuseOlder(database)
            // On pages that are damaged a repair would do more harm.
            if let damage = try String.fetchOne(database, sql: "PRAGMA quick_check(1)"), damage != "ok" {
                throw PenstockError(
                    .corrupt,
                    "SQLite finds \(path) damaged: \(FileInspection.oneLine(damage)); restore it from a copy. Nothing was "
                        + "changed.")
            }
            var report = RepairReport(path: path, isDryRun: dryRun)
            try database.inTransaction(.immediate) {
                report.repairs = try Repairing.perform(database, now: now)
                return dryRun || report.repairs.isEmpty ? .rollback : .commit
            }
            report.repairs += FolderInspection(SharedFolder(existingBesideDatabaseAt: path)).repairs(dryRun: dryRun)
            return report
        }
    }
}

extension FolderInspection {
    /// Mends what can be; `dryRun`: only says what would be. What the system refuses, the next inspection still finds.
    fileprivate func repairs(dryRun: Bool) -> [Repair] {
        faults().filter(\.isMendable).compactMap { fault in
            if !dryRun, (try? mend(fault)) == nil { return nil }
            let isAnew = if case .damaged = fault.kind { true } else { false }
            return Repair(
                .wrongFolder, 1,
                "\(fault.path) was \(isAnew ? "made anew" : "given the database's owner and mode").")
        }
    }
}
