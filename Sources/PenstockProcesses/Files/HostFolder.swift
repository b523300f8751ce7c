import Foundation
import PenstockCore

/// What the processes of one user on this machine share of a store that lies on a server: a ``SharedFolder`` in `XDG_RUNTIME_DIR`, or
/// else in `/tmp`.
///
/// | file | what it is |
/// |---|---|
/// | `penstock-UID/lock` | locked while one of the folders beside it is opened or removed |
/// | `penstock-UID/NAME/store` | says which store it is, and is locked, together with others, by each process that has the store open |
/// | `penstock-UID/NAME/…` | as beside a database |
///
/// Nothing that must be right relies on it: processes that do not find each other there meet at the server. The last one to leave
/// removes the folder. One that was killed leaves it; the next one to open any store of the user's removes it.
package final class HostFolder: Sendable {
    package let folder: SharedFolder
    private let own: SharedFolder
    /// The file `store`, open and locked.
    private let descriptor: Int32

    /// How often, a millisecond apart, a process asks for the folders as it opens one, while another has them in hand. That takes less
    /// than a millisecond, unless fifty processes start at once and put each other aside. A process that is stopped meanwhile is not waited
    /// for any longer.
    private static let openTriesMax = 3000
    /// The same as it leaves one. What it cannot remove the next process does.
    private static let leaveTriesMax = 100

    /// Opens the folder of the store that is described by `store`, a text that differs from those of all others.
    ///
    /// - Parameters:
    ///   - store: the text.
    ///   - pause: lets some time pass between two tries.
    /// - Throws: `readOnly` when another user could have prepared it; `storage` when it cannot be made, or is another store's; `busy`
    ///   when another process has it in hand for too long.
    package init(of store: String, pause: () -> Void = { usleep(1000) }) throws {
        let base =
            ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        own = try SharedFolder(private: "\(base)/penstock-\(geteuid())")
        let name = String(Checksum.fnv1a(of: store.utf8), radix: 16)
        (folder, descriptor) = try Self.alone(in: own, triesMax: Self.openTriesMax, pause: pause) { [own] in
            Self.removeLeft(in: own, besides: name)
            let folder = try SharedFolder(private: own.file(name))
            let file = folder.file(Self.fileName)
            let descriptor = try folder.open(file)
            if Self.names(store, descriptor), FileLock.take(descriptor, by: FileLock.shared) == 0 {
                return (folder, descriptor)
            }
            close(descriptor)
            throw PenstockError(.storage, "The folder \(folder.path) is another store's; remove it.")
        }
    }

    deinit {
        leave()
        close(descriptor)
    }

    /// Leaves the folder, and removes it when no other process has the store open.
    package func leave() {
        try? Self.alone(in: own, triesMax: Self.leaveTriesMax, pause: { usleep(1000) }) {
            // The lock of this process becomes one that nobody shares, if nobody does.
            if FileLock.take(descriptor) == 0 { Self.remove(folder.path) { Self.isSame(descriptor, $0) } }
        }
        FileLock.release(descriptor)
    }

    /// Whether two descriptors are of one file: it may have been removed, and another one made.
    private static func isSame(_ one: Int32, _ other: Int32) -> Bool {
        guard let number = FileNumber(of: one) else { return false }
        return number == FileNumber(of: other)
    }

    /// Removes some of the folders that processes have left that were killed.
    private static func removeLeft(in own: SharedFolder, besides name: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: own.path)) ?? []
        for left in names.filter({ $0 != name && $0 != lockName }).shuffled().prefix(removedMax) {
            remove(own.file(left)) { FileLock.take($0) == 0 }
        }
    }

    /// Removes a folder that is this user's, with the files in it that are Penstock's. No link is followed, and nothing else is touched.
    ///
    /// - Parameter mayGo: is asked with the file `store` of the folder. One without it was left by a process that died as it made it.
    private static func remove(_ path: String, if mayGo: (Int32) -> Bool) {
        let folder = SystemCall.uninterrupted {
            Foundation.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        }
        if folder < 0 { return }
        defer { close(folder) }
        var status = stat()
        guard fstat(folder, &status) == 0, status.st_uid == geteuid() else { return }
        let file = SystemCall.uninterrupted {
            openat(folder, fileName, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        }
        if file < 0, errno != ENOENT { return }
        defer { if file >= 0 { close(file) } }
        if file >= 0, !mayGo(file) { return }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] where isOwn(name) {
            unlinkat(folder, name, 0)
        }
        rmdir(path)
    }

    /// Whether a file of that name is one that lies in such a folder.
    private static func isOwn(_ name: String) -> Bool {
        name == fileName || ["writer-lock", "writers-", "doorbell-", "listener-"].contains { name.hasPrefix($0) }
    }

    private static let removedMax = 8
    private static let lockName = "lock"

    private static let fileName = "store"

    /// Whether the file says that it is `store`. One that says nothing yet does so from now on.
    private static func names(_ store: String, _ descriptor: Int32) -> Bool {
        var found = [UInt8](repeating: 0, count: store.utf8.count + 1)
        let count = SystemCall.uninterrupted { pread(descriptor, &found, found.count, 0) }
        if count == 0 {
            let written = SystemCall.uninterrupted { pwrite(descriptor, store, store.utf8.count, 0) }
            if written == store.utf8.count { return true }
            // Half of it, on a full disk, would be another store's for ever.
            SystemCall.uninterrupted { ftruncate(descriptor, 0) }
            return false
        }
        return count > 0 && found[..<count].elementsEqual(store.utf8)
    }

    /// Calls `body` while no other process of the user opens or removes a folder.
    private static func alone<T>(
        in own: SharedFolder, triesMax: Int, pause: () -> Void, _ body: () throws -> T
    ) throws -> T {
        let lock = try own.open(own.file(lockName))
        defer { close(lock) }
        var tries = 1
        while FileLock.take(lock) != 0 {
            guard tries < triesMax else {
                throw PenstockError(.busy, "Another process has the folder \(own.path) in hand.")
            }
            tries += 1
            pause()
        }
        return try body()
    }
}
