import Foundation
import PenstockCore

/// Puts the writers of several processes in line: who wants to write takes this lock first, and only then SQLite's.
///
/// SQLite's own wait is a loop of sleeps, in which whoever wakes at the right moment wins and others can lose for
/// seconds. A blocked `flock` is woken by the kernel as soon as the holder is through, in the order of coming. Programs
/// that do not know the turnstile, such as the sqlite3 shell, meet at SQLite's lock as before.
///
/// A blocked `flock` knows no end, and a holder may be stopped for hours, in a debugger or by Ctrl-Z: ``TurnWait``
/// answers those who wait for the one who is blocked.
///
/// One thread at a time may pass.
package final class WriterLock: Sendable {
    private let descriptor: Int32

    package init(_ folder: SharedFolder) throws {
        descriptor = try folder.open(folder.turnstile)
    }

    deinit {
        close(descriptor)
    }

    /// Takes the turn, if nobody has it.
    package func enterAtOnce() -> Bool {
        flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    /// Takes the turn when it comes.
    package func enter() {
        while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
    }

    /// Lets the next one through.
    package func leave() {
        _ = flock(descriptor, LOCK_UN)
    }
}
