import Foundation
import PenstockCore

/// What SQLite keeps beside a database: its write-ahead log, the index of that, and the journal by which it takes back a change that
/// was not finished.
///
/// SQLite does not ask whose these files are. It reads messages from what it finds there, and writes messages into it. A user who cannot
/// open the database, and can make a file in its folder, could read all that is written from then on, and put other messages in the
/// place of those that are there. So programs look before SQLite does, and once more when it has opened them, as that user may have made
/// one between.
///
/// In a folder that strangers may write and that is not sticky this ends nothing: there they can put another file into the place of the
/// database itself.
package struct DatabaseCompanions: Sendable {
    /// What comes behind the name of the database.
    package static let ends = ["-wal", "-shm", "-journal"]

    private let folder: SharedFolder

    /// Those of the database at `path`, which is resolved and may be missing.
    package init(of path: String) {
        self.init(SharedFolder(existingBesideDatabaseAt: path))
    }

    /// Those of the database that `folder` lies beside.
    init(_ folder: SharedFolder) {
        self.folder = folder
    }

    /// Throws when a user who cannot open the database may have made one of those that are there, or it is a link.
    ///
    /// - Parameter toWrite: whether the file is to be written. Then one with two names is refused as well: the other name may be that
    ///   of a file which is not the database's, and a copy of a folder that shares its files can be looked at all the same.
    /// - Throws: `readOnly`.
    package func refuseForeign(toWrite: Bool) throws {
        if let (path, why) = foreign(toWrite: toWrite).first {
            throw PenstockError(.readOnly, Self.sentence(path, why))
        }
    }

    /// Those that ``refuseForeign(toWrite:)`` throws for, each with what is wrong with it.
    func foreign(toWrite: Bool) -> [(path: String, why: String)] {
        folder.companions.compactMap { path in
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            if !toWrite, status.st_mode & S_IFMT == S_IFREG { status.st_nlink = 1 }
            guard case .foreign(let why) = folder.flaw(of: status, isFolder: false) else { return nil }
            return (path, why)
        }
    }

    /// What is said of one. Messages may lie in it, so nobody is told to remove it.
    static func sentence(_ path: String, _ why: String) -> String {
        "\(path) \(why), so others could read or change the messages in it; stop the programs that use the database, and find out why."
    }
}
