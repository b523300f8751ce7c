import Foundation
import PenstockCore
import PenstockProcesses

/// A database that is made under another name in the same folder, and gets its own name when it is whole.
struct NewFile {
    /// What its name is meanwhile.
    let temporaryPath: String
    private let path: String
    private let replaces: Bool

    /// Makes an empty file that only its owner can read.
    ///
    /// - Parameters:
    ///   - path: its name, once it is whole.
    ///   - purpose: a word for the name that it has before.
    ///   - replaces: whether it takes the place of a file that has its name.
    /// - Throws: `fileExists`, `readOnly`, `diskFull` and so on.
    init(for path: String, purpose: String, replaces: Bool = false) throws {
        self.path = path
        self.replaces = replaces
        temporaryPath = "\(path)-\(purpose)-\(UUID().uuidString.lowercased())"
        try refuseExisting()
        let descriptor = open(temporaryPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemErrors.failure("\(path) cannot be made", errno) }
        close(descriptor)
    }

    /// Puts the file on the disk, with all that was written to it.
    func flush() throws {
        let descriptor = open(temporaryPath, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemErrors.failure("\(path) cannot be made", errno) }
        defer { close(descriptor) }
        guard Flusher.systemFlush(descriptor) == 0 else { throw SystemErrors.failure("\(path) cannot be made", errno) }
    }

    /// Gives the file its name, in nobody's place unless it replaces.
    ///
    /// - Throws: `fileExists` when another file has got the name meanwhile.
    func publish() throws {
        try refuseExisting()
        if replaces {
            guard rename(temporaryPath, path) == 0 else { throw SystemErrors.failure("\(path) cannot be made", errno) }
            return
        }
        // Unlike a rename it fails where the name is taken.
        guard link(temporaryPath, path) == 0 else {
            if errno == EEXIST { throw exists(path) }
            throw SystemErrors.failure("\(path) cannot be made", errno)
        }
    }

    /// Puts the folder on the disk, with the file's name in it.
    ///
    /// - Throws: `outcomeUnknown` when the disk reports an error: the file is there, and a power cut may undo it.
    func flushName() throws {
        let descriptor = open(DatabasePath.folder(of: path), O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw PenstockError(
                .outcomeUnknown,
                "\(path) was made, and its folder cannot be put on the disk (\(String(cString: strerror(errno)))), so a "
                    + "power cut may undo it; see to the disk.")
        }
    }

    /// Removes the other name, and what SQLite may have left beside it.
    func removeTemporaryName() {
        for end in [""] + Self.companions { unlink(temporaryPath + end) }
    }

    private static let companions = ["-journal", "-wal", "-shm"]

    /// A companion alone belongs to a database that was there, and SQLite would take it for the new one's.
    private func refuseExisting() throws {
        for end in (replaces ? [] : [""]) + Self.companions {
            var status = stat()
            if lstat(path + end, &status) == 0 { throw exists(path + end) }
            guard errno == ENOENT else { throw SystemErrors.failure("\(path + end) cannot be looked at", errno) }
        }
    }

    private func exists(_ file: String) -> PenstockError {
        PenstockError(
            .fileExists, "There is \(file) already, and it is left as it is; move it away or name another file.")
    }
}
