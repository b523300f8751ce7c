import Foundation
import GRDBSQLite
import PenstockCore

/// What a database file looks like while no program writes it. As long as it looks the same, nothing has changed.
struct FileStillness: Equatable {
    private let identity: FileIdentity
    private let size: Int64
    /// The seconds and nanoseconds at which the content was last changed, and then those of all that is known of the file.
    private let changed: [Int]
    /// Whether it has several names, and nobody works it by this one.
    private(set) var isByOtherName = false

    /// How the file at `path` is; `nil` when some program may be writing it. A log with nothing in it says nothing beside a name by which
    /// nobody works the file.
    ///
    /// - Throws: `invalidInput` when a program works it by another name, or has left a log beside this one.
    static func look(_ path: String) throws -> FileStillness? {
        let isByOtherName = try OtherNames.mustBeStill(path)
        guard var stillness = FileStillness(path, besideEmptyLog: isByOtherName) else {
            if isByOtherName { try OtherNames.refuse(path) }
            return nil
        }
        stillness.isByOtherName = isByOtherName
        return stillness
    }

    /// How the file at `path` is; `nil` when a write-ahead log beside it says that some program may be writing it, or may have left
    /// something behind that belongs to it.
    ///
    /// - Parameter besideEmptyLog: whether a log with nothing in it says neither: as long as it is so, all that was written is in the file.
    init?(_ path: String, besideEmptyLog: Bool = false) {
        // SQLite understands names of this form when it was built to, as it is on the systems of Apple and of Debian.
        guard sqlite3_compileoption_used("USE_URI") != 0, let status = FileIdentity.status(of: path),
            FileIdentity.status(of: path + "-journal") == nil
        else { return nil }
        if let writeAheadLog = FileIdentity.status(of: path + "-wal"),
            writeAheadLog.st_size > 0 || !besideEmptyLog && FileIdentity.status(of: path + "-shm") != nil
        {
            return nil
        }
        identity = FileIdentity(status)
        size = Int64(status.st_size)
        #if canImport(Darwin)
            let times = [status.st_mtimespec, status.st_ctimespec]
        #else
            let times = [status.st_mtim, status.st_ctim]
        #endif
        changed = times.flatMap { [Int($0.tv_sec), Int($0.tv_nsec)] }
    }

    /// Whether the file was not written to for so many seconds, as the system's clock has it.
    func isSettled(for seconds: Int) -> Bool { time(nil) - changed[changed.count - 2] >= seconds }

    /// The name by which SQLite opens the file at `path` as one that does not change.
    static func immutable(_ path: String) -> String {
        let bytes = path.utf8.map { byte -> String in
            if byte.isLetterOrDigit || byte == UInt8(ascii: "/") { return String(Unicode.Scalar(byte)) }
            return (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
        }
        return "file:\(bytes.joined())?immutable=1"
    }
}
