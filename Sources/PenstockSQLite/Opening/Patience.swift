import GRDB
import PenstockProcesses

/// Waits for a lock whose holder wakes nobody.
enum Patience {
    /// Runs `body` again for as long as it finds the database locked, up to `limit` from now.
    ///
    /// The pauses between are uneven, lest two that wait keep step.
    static func whileLocked<T>(upTo limit: Duration, _ body: () throws -> T) throws -> T {
        let started = ContinuousClock.now
        while true {
            do {
                return try body()
            } catch let error as DatabaseError where isLocked(error) && ContinuousClock.now - started < limit {
                WriterLock.pause()
            }
        }
    }

    /// SQLite has another word for a lock that a process holds as it begins the index of the log, and gives up by itself after ten seconds.
    private static func isLocked(_ error: DatabaseError) -> Bool {
        [.SQLITE_BUSY, .SQLITE_PROTOCOL].contains(error.resultCode)
    }

    /// How a connection waits for a lock: for `limit`, about.
    static func busyMode(upTo limit: Duration) -> Database.BusyMode {
        .callback { pauses in
            WriterLock.pause()
            return pauses < Int(limit / .microseconds(2500))
        }
    }
}
