import Foundation

/// Puts the writers of several processes in line: who wants to write takes this lock first, and only then SQLite's.
///
/// SQLite's own wait is a loop of sleeps, in which whoever wakes at the right moment wins and others can lose for
/// seconds. A blocked `flock` is woken by the kernel as soon as the holder is through. Programs that do not know the
/// turnstile, such as the sqlite3 shell, meet at SQLite's lock as before.
final class Turnstile: Sendable {
    private let descriptor: Int32

    init(_ folder: SideFolder) throws {
        descriptor = try SideFolder.open(folder.turnstile)
    }

    deinit {
        close(descriptor)
    }

    /// Waits for its turn, runs `body`, and lets the next one through.
    func pass<T>(_ body: () throws -> T) rethrows -> T {
        while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        defer { flock(descriptor, LOCK_UN) }
        return try body()
    }
}
