import Foundation
import GRDB
import PenstockCore

/// Opens a file as a pool set up for a queue.
enum OpenFile {
    /// A pool on the file at `path`.
    ///
    /// - Throws: `notFound` when there is no file and `createIfMissing` is false; `notADatabase`, `readOnly` and so on
    ///   when it cannot be used. A file that is not Penstock's is left as it is.
    static func pool(at path: String, createIfMissing: Bool) throws -> DatabasePool {
        if !FileManager.default.fileExists(atPath: path) {
            guard createIfMissing else {
                throw PenstockError(.notFound, "There is no file at \(path); `penstock queue create` makes one.")
            }
            try createPrivately(path)
        } else if access(path, W_OK) != 0 {
            throw PenstockError(.readOnly, "\(path) cannot be written; check its permissions.")
        }
        return try DatabasePool(path: path, configuration: configuration())
    }

    /// Makes the empty file with mode 0600. SQLite gives its companions the mode of the database.
    private static func createPrivately(_ path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 || errno == EEXIST else {
            throw PenstockError(
                .readOnly,
                "\(path) cannot be made (\(String(cString: strerror(errno)))); check its folder and permissions.")
        }
        if descriptor >= 0 { close(descriptor) }
    }

    private static func configuration() -> Configuration {
        var configuration = Configuration()
        configuration.label = "penstock"
        // A reader or a recovery can meet a lock for moments. Nobody is shown it; the wait has an end all the same.
        configuration.busyMode = .callback { tries in
            usleep(500 + UInt32.random(in: 0..<4000))
            return tries < 10_000
        }
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { database in
            // A reader's connection writes nothing, and is refused most of these.
            if database.configuration.readonly { return }
            // Pages of deleted messages can be given back to the file system, a few at a time. It must be set before
            // the first table is made, and is a property of the file from then on. Setting it again would write, and
            // sync, at each opening.
            if try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") == 0 {
                try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            }
            // After a checkpoint a WAL that grew beyond this is cut, so that one burst does not stay on the disk.
            try database.execute(sql: "PRAGMA journal_size_limit = 67108864")
            // 16 MiB between checkpoints: each page that is written often in between is copied once.
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 4000")
            // 16 MiB of pages in memory, so that the upper levels of every table stay there.
            try database.execute(sql: "PRAGMA cache_size = -16384")
            #if canImport(Darwin)
                // On Apple platforms fsync leaves data in the drive's cache; only a full sync survives a power cut.
                try database.execute(sql: "PRAGMA fullfsync = ON")
                try database.execute(sql: "PRAGMA checkpoint_fullfsync = ON")
            #endif
        }
        return configuration
    }
}
