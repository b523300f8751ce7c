import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization

/// A database that is made under another name in the same folder, and gets its own name when it is whole.
///
/// The process that makes it holds a lock on it. So one that is found without a lock was left by a process that died, and goes as the
/// next one for the same name is made. Where the system has no such locks it stays.
struct NewFile {
    /// What its name is meanwhile.
    let temporaryPath: String
    private let path: String
    private let replaces: Bool
    private let flushFile: @Sendable (Int32) -> Int32
    private let changeName: FileName.Change
    private let hold: Hold

    /// Makes an empty file that only its owner can read.
    ///
    /// - Parameters:
    ///   - path: its name, once it is whole.
    ///   - purpose: a word for the name that it has before.
    ///   - replaces: whether it takes the place of a file that has its name.
    ///   - flush: puts a file on the disk. For tests, in which the disk fails.
    ///   - changeName: gives the file its name where nothing has it. For tests, in which the file system knows no such step.
    /// - Throws: `fileExists`, `invalidInput` when the name is too long, `readOnly`, `diskFull` and so on.
    init(
        for path: String, purpose: String, replaces: Bool = false,
        flush: @escaping @Sendable (Int32) -> Int32 = Flusher.systemFlush,
        changeName: @escaping FileName.Change = FileName.toNew
    ) throws {
        try DatabasePath.refuseCompanion(path)
        self.path = path
        self.replaces = replaces
        flushFile = flush
        self.changeName = changeName
        try Self.refuseExisting(path, replaces: replaces)
        let name = "\(path)-\(purpose)-"
        try Self.requireRoom(for: name + UUID().uuidString, path)
        LeftFiles.remove(named: name)
        while true {
            let temporaryPath = name + UUID().uuidString.lowercased()
            let descriptor = SystemCall.uninterrupted {
                open(temporaryPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            }
            guard descriptor >= 0 else { throw SystemErrors.failure("\(path) cannot be made", errno) }
            if LeftFiles.hold(descriptor) {
                (self.temporaryPath, hold) = (temporaryPath, Hold(descriptor))
                return
            }
            // Another process has taken it for one that was left, and removes it.
            unlink(temporaryPath)
            close(descriptor)
        }
    }

    /// Puts the file on the disk, with all that was written to it.
    func flush() throws {
        let descriptor = SystemCall.uninterrupted { open(temporaryPath, O_RDWR | O_CLOEXEC) }
        guard descriptor >= 0 else { throw SystemErrors.failure("\(path) cannot be made", errno) }
        defer { close(descriptor) }
        guard flushFile(descriptor) == 0 else { throw SystemErrors.failure("\(path) cannot be made", errno) }
    }

    /// Gives the file its name, in nobody's place unless it replaces.
    ///
    /// - Throws: `fileExists` when another file has got the name meanwhile.
    func publish() throws {
        try Self.refuseExisting(path, replaces: replaces)
        // Whoever opens the file by its name, in this process too, has locks on it that go when a descriptor of it is closed.
        hold.end()
        if replaces {
            guard rename(temporaryPath, path) == 0 else { throw SystemErrors.failure("\(path) cannot be made", errno) }
            return
        }
        if changeName(temporaryPath, path) == 0 { return }
        // Where the file system knows no such step it has two names for a moment. No store is opened on a file of two names, and a process
        // that died with both would leave it so: the folder is flushed when one of them is gone.
        guard errno != EEXIST, link(temporaryPath, path) == 0 else {
            if errno == EEXIST { throw Self.exists(path) }
            throw SystemErrors.failure("\(path) cannot be made", errno)
        }
        guard unlink(temporaryPath) == 0 || errno == ENOENT else {
            throw SystemErrors.failure("\(path) was made, and its other name \(temporaryPath) cannot be removed", errno)
        }
    }

    /// Puts the folder on the disk, with the file's name in it.
    ///
    /// - Throws: `outcomeUnknown` when the disk reports an error: the file is there, and a power cut may undo it.
    func flushName() throws {
        let descriptor = SystemCall.uninterrupted { open(SharedFolder.parent(of: path), O_RDONLY | O_CLOEXEC) }
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, Self.flushFolder(descriptor) == 0 else {
            throw PenstockError(
                .outcomeUnknown,
                "\(path) was made, and its folder cannot be put on the disk (\(String(cString: strerror(errno)))), so a "
                    + "power cut may undo it; see to the disk.")
        }
    }

    private static func flushFolder(_ descriptor: Int32) -> Int32 {
        #if canImport(Darwin)
            // There fsync leaves the name in the drive's cache.
            return Flusher.systemFlush(descriptor)
        #else
            return SystemCall.uninterrupted { fsync(descriptor) }
        #endif
    }

    /// Removes the other name, and what SQLite may have left beside it. Nothing of the file is done after that.
    func removeTemporaryName() {
        LeftFiles.unlinkAll(temporaryPath)
        // With it goes what SQLite has locked in this process, so not before.
        hold.end()
    }

    /// The open file that has the lock.
    private final class Hold: Sendable {
        private let descriptor: Mutex<Int32?>

        init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

        func end() {
            if let descriptor = descriptor.withLock({ $0.take() }) { close(descriptor) }
        }
    }

    /// Throws `invalidInput` when the name that a file at `path` has until it is whole, or what SQLite has beside it meanwhile, would be too long.
    private static func requireRoom(for temporaryPath: String, _ path: String) throws {
        let excess = max(
            temporaryPath.utf8.count - DatabasePath.bytesMax,
            DatabasePath.nameByteCount(temporaryPath + "-journal") - DatabasePath.fileNameBytesMax)
        try require(
            excess <= 0,
            "\(path) is \(excess) bytes too long, as the file has a longer name until it is whole; take a shorter name, or a folder "
                + "nearer to the root.")
    }

    /// A companion alone belongs to a database that was there, and SQLite would take it for the new one's.
    private static func refuseExisting(_ path: String, replaces: Bool) throws {
        for end in (replaces ? [] : [""]) + DatabaseCompanions.ends {
            var status = stat()
            if lstat(path + end, &status) == 0 { throw exists(path + end) }
            guard errno == ENOENT else { throw SystemErrors.failure("\(path + end) cannot be looked at", errno) }
        }
    }

    private static func exists(_ file: String) -> PenstockError {
        PenstockError(
            .fileExists, "There is \(file) already, and it is left as it is; move it away or name another file.")
    }
}

/// Files that processes have left which died as they made a backup or a store out of one.
private enum LeftFiles {
    /// Locks a file that was just made, for as long as it is open.
    ///
    /// - Returns: whether it is there still.
    static func hold(_ descriptor: Int32) -> Bool {
        var status = stat()
        let isLocked = lock(descriptor).take() || !ByteLock.isKnown
        return isLocked && fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }

    /// Removes files whose name is `name` and a UUID, and that nobody has locked. What the system refuses stays.
    static func remove(named name: String) {
        guard ByteLock.isKnown else { return }
        let folder = SharedFolder.parent(of: name)
        let prefix = name.split(separator: "/").last.map(String.init) ?? name
        for file in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard file.hasPrefix(prefix), let id = UUID(uuidString: String(file.dropFirst(prefix.count))),
                file == prefix + id.uuidString.lowercased()
            else { continue }
            removeIfLeft("\(folder)/\(file)")
        }
    }

    static func unlinkAll(_ path: String) {
        for end in [""] + DatabaseCompanions.ends { unlink(path + end) }
    }

    private static func removeIfLeft(_ path: String) {
        let descriptor = SystemCall.uninterrupted { open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, lock(descriptor).take() else {
            return
        }
        unlinkAll(path)
    }

    /// Where SQLite locks nothing.
    private static func lock(_ descriptor: Int32) -> ByteLock { ByteLock(descriptor: descriptor, offset: 0) }
}
