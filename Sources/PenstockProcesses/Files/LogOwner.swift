import Foundation
import PenstockCore

/// Which file the write-ahead log beside a database belongs to.
///
/// SQLite goes by names alone. Where another file is moved into the place of one that a program has open, or had open when it died, the
/// log of that one is left, and SQLite would read it as that of the new file, and write it there. So a process that opens a
/// store writes into the store's folder which file it has open, and which log; and one that finds that log beside another file leaves both.
///
/// In a copy of the folder the log is another one as well, so the record says nothing of it.
package struct LogOwner: Equatable {
    /// The record's name in the store's folder.
    static let fileName = "log-owner"
    /// Bytes of a record: it is written over the one before, and is as long.
    private static let size = 96

    private let file: FileBirth
    private let log: FileBirth

    /// What is at `path` and beside it now; `nil` when there is no log, or its file system does not know when a file was made.
    private init?(at path: String) {
        guard let file = FileBirth(of: path), let log = FileBirth(of: path + "-wal") else { return nil }
        (self.file, self.log) = (file, log)
    }

    /// What the process that opened the store last has written; `nil` when there is nothing, or nothing that can be read.
    private init?(recordIn folder: SharedFolder) {
        let descriptor = SystemCall.uninterrupted {
            open(folder.file(Self.fileName), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.size)
        let count = SystemCall.uninterrupted { pread(descriptor, &bytes, Self.size, 0) }
        guard count == Self.size else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard parts.count == 4, let file = UInt64(parts[0]), let fileTime = Int64(parts[1]), let log = UInt64(parts[2]),
            let logTime = Int64(parts[3])
        else { return nil }
        self.file = FileBirth(number: file, nanoseconds: fileTime)
        self.log = FileBirth(number: log, nanoseconds: logTime)
    }

    /// Whether the log beside the database at `path` is known to belong to another file.
    package static func isAnother(at path: String) -> Bool {
        guard let now = LogOwner(at: path),
            let known = LogOwner(recordIn: SharedFolder(existingBesideDatabaseAt: path))
        else { return false }
        return known.log == now.log && known.file != now.file
    }

    /// Writes down that the log beside the database at `path` belongs to the file there.
    ///
    /// - Parameter requireOpen: throws unless that is the file that this process has open. Another one may have taken its name while the
    ///   process waited for a lock.
    package static func record(at path: String, in folder: SharedFolder, requireOpen: () throws -> Void) throws {
        let now = LogOwner(at: path)
        try requireOpen()
        guard let now, LogOwner(recordIn: folder) != now else { return }
        // What cannot be written is not: a full disk keeps nobody from working what is there.
        guard let descriptor = try? folder.open(folder.file(fileName)) else { return }
        defer { close(descriptor) }
        var bytes = Array("\(now.file.number) \(now.file.nanoseconds) \(now.log.number) \(now.log.nanoseconds)".utf8)
        bytes += Array(repeating: UInt8(ascii: " "), count: size - 1 - bytes.count) + [UInt8(ascii: "\n")]
        SystemCall.uninterrupted { pwrite(descriptor, bytes, size, 0) }
    }
}
