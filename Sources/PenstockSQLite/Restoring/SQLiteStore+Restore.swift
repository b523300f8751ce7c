public import PenstockCore

extension SQLiteStore {
    /// Makes a store at `path` out of the backup at `backup`, such that no sequence number is given twice, nothing is in a
    /// worker's hands, and no file is replaced.
    ///
    /// The backup is only read. The store appears at `path` all at once, and is on the disk then. A process that is killed
    /// before leaves a file whose name begins with that of `path` and `-restore-`.
    ///
    /// - Parameters:
    ///   - backup: a copy of a store's file.
    ///   - path: where the store is to be. No file may be there, nor a companion of one.
    /// - Throws: ``PenstockError`` with code `fileExists`, `notFound`, `notADatabase`, `newerSchema`, `corrupt`, `readOnly`,
    ///   `diskFull`, `busy` or `storage`; then nothing was made. With `outcomeUnknown` the store was made, and a power cut
    ///   may undo it.
    public static func restore(from backup: String, to path: String) async throws -> RestoreReport {
        try await restore(from: backup, to: path, after: { _ in })
    }

    /// - Parameter step: is called after each step. For tests, in which the process dies there.
    static func restore(
        from backup: String, to path: String, after step: @escaping @Sendable (RestoreStep) throws -> Void
    ) async throws -> RestoreReport {
        try await Blocking.run {
            let backup = try DatabasePath.existing(backup)
            let path = try DatabasePath.resolved(path)
            return try Restoring(backup: backup, path: path, after: step).perform()
        }
    }
}
