public import PenstockCore

extension SQLiteStore {
    /// Inspects the file at `path` without changing it: whether it is sound, and whether its workers get on.
    ///
    /// Works beside running workers, and on files of an older or newer schema, that are damaged, or that are none of
    /// Penstock's: it reports, as far as it can read. It reads every page of the file, so it takes a while on a large
    /// one. Nothing is written but by one passive checkpoint, which changes nothing that anybody sees, and which is left
    /// out when the file cannot be written, its schema is newer, or something in it is wrong. A symbolic link is followed
    /// first.
    ///
    /// - Parameters:
    ///   - path: the database's file.
    ///   - stuckAfter: for how long a living worker may hold one message before the report names it.
    ///   - time: the clocks by which leases are judged.
    /// - Throws: ``PenstockError`` with code `notFound` when there is no file, `notADatabase` when it is not one of
    ///   SQLite's, `readOnly` when it may not be read, or `busy`.
    public static func inspectHealth(
        path: String, stuckAfter: Duration = .seconds(3600), time: any TimeSource = SystemTime()
    ) async throws -> HealthReport {
        try await Blocking.run {
            let path = try DatabasePath.existing(path)
            do {
                return try HealthInspection(path: path, stuckAfter: stuckAfter, time: time).report()
            } catch {
                throw StorageErrors.translated(error, path: path)
            }
        }
    }
}
