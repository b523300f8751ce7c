public import PenstockCore
internal import PenstockSQLite

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
    /// - Throws: `PenstockError` with code `notFound`, `notADatabase`, `readOnly`, `diskFull` or `busy`; `newerSchema` or
    ///   `olderSchema` when the file's schema is not this program's; `corrupt` when SQLite finds the file itself
    ///   damaged. Then nothing was changed.
    public static func repair(
        path: String, dryRun: Bool = false, time: any TimeSource = SystemTime()
    ) async throws -> RepairReport {
        try await SQLiteStore.repair(path: path, dryRun: dryRun, time: time)
    }

    /// Makes a backup at `path` of the file at `source`, which processes may be working on: it has what was committed at one moment,
    /// and nobody waits for it. Meanwhile the file's write-ahead log grows by what is written.
    ///
    /// The backup is one file, found sound, on the disk, and with mode 0600. It is at `path` all at once. When the process is killed
    /// before, a file is left whose name begins with that of `path` and `-backup-`, which the next backup there removes. A backup is not to be used as it
    /// is: ``restore(from:to:)`` makes a store of it.
    ///
    /// ```swift
    /// let report = try await PenstockStore.backup(of: "shop.db", to: "backup.db", replacing: true)
    /// print("the backup knows messages up to \(report.lastSequence)")
    /// ```
    ///
    /// - Parameters:
    ///   - source: the file.
    ///   - path: the backup's.
    ///   - replacing: whether it takes the place of an older backup. What is a store that was worked, or no file of Penstock's, is never
    ///     replaced.
    /// - Throws: `PenstockError` with code `fileExists` when there is a file at `path` that is not to be replaced, or a companion of one
    ///   (`-wal`, `-shm`, `-journal`); `notFound` when there is no source, or no folder for the backup; `invalidInput` when the backup's
    ///   path is too long; `notADatabase`, `newerSchema` or `corrupt` for a source that none can be made of; `readOnly`, `diskFull` or
    ///   `storage`. Then nothing was made, and an older
    ///   backup is as it was. With `outcomeUnknown` the backup was made, and a power cut may undo it.
    @discardableResult
    public static func backup(
        of source: String, to path: String, replacing: Bool = false
    ) async throws -> BackupReport {
        try await SQLiteStore.backup(of: source, to: path, replacing: replacing)
    }

    /// Makes a store at `path` out of the backup at `backup`: a copy of a store's file, made by ``backup(of:to:replacing:)`` or by
    /// SQLite's `.backup` or `VACUUM INTO`, or of the file and its log while no program had it open.
    ///
    /// The new store is the backup, but for what must not come back:
    /// - No sequence number is given twice. The next ones are 10^9 ahead of the backup's, as the store that it is of may have given
    ///   more since.
    /// - What workers had in their hands is ready again, and the attempt is not counted. The rows of workers are gone.
    ///
    /// What has happened since the backup is not in it: what was enqueued is missing, and what was done is done again.
    /// Cursors stand where they stood. An older schema is brought up to date; the backup itself is only read.
    ///
    /// The store is at `path` all at once, on the disk, with mode 0600, and in nobody's place. When the process is killed
    /// before, a file is left whose name begins with that of `path` and `-restore-`, which the next restore there removes.
    ///
    /// ```swift
    /// let report = try await PenstockStore.restore(from: "backup.db", to: "shop.db")
    /// print("the next message is \(report.nextSequence)")
    /// ```
    ///
    /// - Throws: `PenstockError` with code `fileExists` when there is a file at `path`, or a companion of one (`-wal`, `-shm`,
    ///   `-journal`); `notFound` when there is no backup, or no folder for the store; `invalidInput` when the store's path is too long;
    ///   `notADatabase`, `newerSchema` or `corrupt` for a backup that none can be made of; `readOnly`, `diskFull` or `storage`. Then nothing was made. With `outcomeUnknown`
    ///   the store was made, and a power cut may undo it.
    @discardableResult
    public static func restore(from backup: String, to path: String) async throws -> RestoreReport {
        try await SQLiteStore.restore(from: backup, to: path)
    }
}
