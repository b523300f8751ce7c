import Foundation
import GRDB
import PenstockCore
import PenstockProcesses

/// The write-ahead log and its index, which SQLite keeps beside a file for as long as a program has it open.
///
/// SQLite does not look whether they are still there. When somebody removes one, the next program makes another, of which this process
/// sees nothing, and each of the two writes over what the other has written. So no process goes on without those that it has open.
struct OpenCompanions: Sendable {
    private static let ends = ["-wal", "-shm"]

    private let companions: [(path: String, number: FileNumber)]

    /// Those of the file at `path`, on which a connection must be open and stay so.
    init(of path: String) {
        companions = Self.ends.compactMap { end in
            FileNumber(at: path + end).map { (path + end, $0) }
        }
    }

    /// Throws `fileReplaced` when one is no longer the one that is open.
    func requireStill() throws {
        for (path, number) in companions where !number.isStill(at: path) { throw Self.replaced(path) }
    }

    /// Looks at those of the file at `path` that `database` has just opened to write it. Another user may have made one since the look
    /// before, and removed it again. If so, SQLite is to bring nothing of it into the file as it closes that.
    ///
    /// - Throws: `readOnly` when one may be another user's, `fileReplaced` when one is gone.
    static func refuseForeign(at path: String, beside database: Database) throws {
        do {
            try DatabaseCompanions(of: path).refuseForeign(toWrite: true)
            for file in ends.map({ path + $0 }) where FileIdentity.status(of: file) == nil {
                if SystemErrors.isNothingThere { throw replaced(file) }
                throw SystemErrors.failure("\(file) cannot be looked at", errno)
            }
        } catch {
            OpenFile.leaveWriteAheadLog(database, true)
            throw error
        }
    }

    private static func replaced(_ path: String) -> PenstockError {
        PenstockError(
            .fileReplaced,
            "\(path) was removed or replaced while its database was open, and programs that have the old one and the new one would "
                + "write over each other; stop all that use the database, and start them again.")
    }
}
