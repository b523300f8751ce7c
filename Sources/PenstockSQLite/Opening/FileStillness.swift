import Foundation
import GRDBSQLite

/// What a database file looks like while no program writes it. As long as it looks the same, nothing has changed.
struct FileStillness: Equatable {
    private let identity: FileIdentity
    private let size: Int64
    // Of the content, and of all that is known of the file.
    private let changed: [Int]

    /// How the file at `path` is; `nil` when a write-ahead log beside it says that some program may be writing it, or may have left
    /// something behind that belongs to it.
    init?(_ path: String) {
        // SQLite understands names of this form when it was built to, as it is on the systems of Apple and of Debian.
        guard sqlite3_compileoption_used("USE_URI") != 0, let status = FileIdentity.status(of: path),
            FileIdentity.status(of: path + "-journal") == nil
        else { return nil }
        if let writeAheadLog = FileIdentity.status(of: path + "-wal"),
            writeAheadLog.st_size > 0 || FileIdentity.status(of: path + "-shm") != nil
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

    /// The name by which SQLite opens the file at `path` as one that does not change.
    static func immutable(_ path: String) -> String {
        let bytes = path.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                String(Unicode.Scalar(byte))
            default: (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
            }
        }
        return "file:\(bytes.joined())?immutable=1"
    }
}
