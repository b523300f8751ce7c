import Foundation
import GRDB
public import PenstockCore
import PenstockProcesses

/// Making a backup of a file with queues, which processes may be working on.
struct BackingUp: Sendable {
    let source: String
    let path: String
    let replaces: Bool
    let after: @Sendable (CopyStep) throws -> Void

    func perform() throws -> BackupReport {
        if replaces { try refuseOther() }
        let file = try NewFile(for: path, purpose: "backup", replaces: replaces)
        return try FileCopy(source: source, file: file, path: path, after: after).perform { database in
            let last = try Int64.fetchOne(database, sql: "SELECT last_sequence FROM penstock_state") ?? 0
            let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            let pageBytes = try Int.fetchOne(database, sql: "PRAGMA page_size") ?? 0
            return BackupReport(
                path: path, source: source, lastSequence: SequenceNumber(last), byteCount: pages * pageBytes)
        }
    }

    /// Throws when what is to be replaced is no backup: the source itself, or a file that is none of Penstock's.
    private func refuseOther() throws {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw SystemErrors.failure("\(path) cannot be looked at", errno)
        }
        if try FileIdentity(of: source) == FileIdentity(status) {
            throw PenstockError(.fileExists, "\(path) is the file that is to be backed up; name another one.")
        }
        if lstat(path + "-penstock", &status) == 0 {
            throw PenstockError(
                .fileExists,
                "\(path) is a store that was worked, as \(path)-penstock says, and is left as it is; name another file."
            )
        }
        do {
            let file = try ReadOnlyFile(path, busyMax: .zero) { [path] database in
                guard try SchemaMigrator.version(of: database) > 0 else {
                    throw PenstockError(.notADatabase, "\(path) has none of Penstock's tables.")
                }
            }
            try file.close()
        } catch {
            let error = StorageErrors.translated(error, path: path)
            // What cannot be read, say, may be one.
            guard let code = (error as? PenstockError)?.code, [.notADatabase, .notFound].contains(code) else {
                throw error
            }
            throw PenstockError(
                .fileExists, "\(path) is no backup of Penstock's, and is left as it is; name another file.",
                cause: error)
        }
    }
}

extension SQLiteStore {
    /// Makes a backup at `path` of the file at `source`, as `PenstockStore.backup` says.
    public static func backup(of source: String, to path: String, replacing: Bool) async throws -> BackupReport {
        try await backup(of: source, to: path, replacing: replacing, after: { _ in })
    }

    /// - Parameter step: is called after each step. For tests, in which the process dies there.
    static func backup(
        of source: String, to path: String, replacing: Bool, after step: @escaping @Sendable (CopyStep) throws -> Void
    ) async throws -> BackupReport {
        try await SystemThread.run {
            let source = try DatabasePath.existing(source)
            let path = try DatabasePath.resolved(path)
            return try BackingUp(source: source, path: path, replaces: replacing, after: step).perform()
        }
    }
}
