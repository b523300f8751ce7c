public import PenstockCore
public import PenstockSQLite

extension PenstockStore {
    /// Inspects the file at `path` without opening it as a store, and without changing it: whether it is sound, and
    /// whether its workers get on. Reads every page, so it takes a while on a large file.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - stuckAfter: for how long a living worker may hold one message before the report names it.
    ///   - time: the clocks by which leases are judged.
    /// - Throws: `PenstockError` with code `notFound`, `notADatabase`, `readOnly` or `busy`. A damaged file, or one
    ///   with another schema, is reported on as far as it can be read.
    public static func inspectHealth(
        path: String, stuckAfter: Duration = .seconds(3600), time: any TimeSource = SystemTime()
    ) async throws -> HealthReport {
        try await SQLiteStore.inspectHealth(path: path, stuckAfter: stuckAfter, time: time)
    }

    /// Makes the file at `path` agree with itself again: messages out of place, depths, unique keys, sequence numbers,
    /// cursors and unfinished deletions. One transaction, which may run beside running workers. What it takes away lies in
    /// `penstock_quarantine` afterwards, with the reason.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - dryRun: whether only to say what would be done.
    ///   - time: the clock by which the moment is noted.
    /// - Throws: `PenstockError` with code `notFound`, `notADatabase`, `readOnly`, `diskFull`, `busy` or `newerSchema`;
    ///   `invalidInput` when the file's schema is older than this program's; `corrupt` when SQLite finds the file itself
    ///   damaged. Then nothing was changed.
    public static func repair(
        path: String, dryRun: Bool = false, time: any TimeSource = SystemTime()
    ) async throws -> RepairReport {
        try await SQLiteStore.repair(path: path, dryRun: dryRun, time: time)
    }
}
