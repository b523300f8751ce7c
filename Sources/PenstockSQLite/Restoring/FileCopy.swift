import GRDB
import PenstockCore

/// What making a copy does, one after the other.
enum CopyStep: CaseIterable, Sendable {
    case copied
    case checked
    case prepared
    case published
}

/// Making a file out of another one with queues, which may be in use.
///
/// All of it happens in a file that has another name. The name that is wanted is given to it in one step, once it is whole and on
/// the disk; so whatever dies on the way leaves no half file under that name.
struct FileCopy: Sendable {
    /// How long a program may hold the source for itself.
    private static let busyMax = Duration.seconds(30)

    let source: String
    let file: NewFile
    let path: String
    let after: @Sendable (CopyStep) throws -> Void

    /// - Parameter prepare: what is done with the copy before it has its name.
    func perform<Report>(_ prepare: (Database) throws -> Report) throws -> Report {
        defer { file.removeTemporaryName() }
        let report = try write(prepare)
        try file.flush()
        try after(.prepared)
        try file.publish()
        try after(.published)
        try file.flushName()
        return report
    }

    private func write<Report>(_ prepare: (Database) throws -> Report) throws -> Report {
        do {
            var configuration = Configuration("copy")
            configuration.prepareDatabase { [place = file.temporaryPath] database in
                try OpenFile.requireWritable(database, at: place)
            }
            let new = try DatabaseQueue(path: file.temporaryPath, configuration: configuration)
            defer { try? new.close() }
            return try new.writeWithoutTransaction { database in
                // Nobody else has this file, so no memory is shared for it.
                try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
                try copy(to: database)
                try after(.copied)
                try check(database)
                try after(.checked)
                return try prepare(database)
            }
        } catch let error as DatabaseError {
            // What is wrong with the content was wrong with it in the source.
            let isOfContent = [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_CONSTRAINT].contains(error.resultCode)
            throw isOfContent ? StorageErrors.translated(error, path: source) : translated(error)
        }
    }

    /// Copies the source as it is at one moment. Nobody has to wait for that.
    private func copy(to database: Database) throws {
        do {
            let source = try ReadOnlyFile(source, busyMax: Self.busyMax) { [source] database in
                guard try SchemaMigrator(path: source).refuseNewer(database) > 0 else {
                    throw PenstockError(
                        .notADatabase, "\(source) has none of Penstock's tables, so no store can be made of it.")
                }
            }
            try source.read { whole in
                do {
                    try whole.backup(to: database)
                } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
                    // The source is open by now: it is what lies beside the copy that could not be made.
                    throw translated(error)
                }
            }
            try source.close()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_IOERR {
            // SQLite does not say in which of the two files.
            throw PenstockError(
                .storage,
                "The disk of \(source) or of \(path) reported an error as one was copied to the other, or files may not be so large "
                    + "(`ulimit -f`) or take so much of it (a quota). Nothing was made.", cause: error)
        } catch let error as DatabaseError where error.resultCode != .SQLITE_FULL {
            throw ReadOnlyFile.translated(error, source)
        }
    }

    /// `error` as one of the copy.
    private func translated(_ error: DatabaseError) -> any Error {
        StorageErrors.translated(error, path: path, lyingAt: file.temporaryPath)
    }

    /// Makes the copy one file, and throws unless it is sound.
    private func check(_ database: Database) throws {
        // To its end: the commit comes behind the answer.
        let mode = try String.fetchAll(database, sql: "PRAGMA journal_mode = DELETE").last
        guard mode == "delete" else {
            throw PenstockError(.storage, "\(path) cannot be made: its journal mode stays '\(mode ?? "unknown")'.")
        }
        if let damage = try String.fetchOne(database, sql: "PRAGMA quick_check(1)"), damage != "ok" {
            throw PenstockError(
                .corrupt, "SQLite finds \(source) damaged: \(damage); take another backup. Nothing was made.")
        }
    }
}
