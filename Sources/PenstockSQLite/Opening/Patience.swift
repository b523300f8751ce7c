import Foundation
import GRDB

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
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_BUSY && ContinuousClock.now - started < limit
            {
                pause()
            }
        }
    }

    /// Half a millisecond to four and a half.
    static func pause() {
        usleep(500 + UInt32.random(in: 0..<4000))
    }

    /// How a connection waits for a lock: for `limit`, about.
    static func busyMode(upTo limit: Duration) -> Database.BusyMode {
        .callback { pauses in
            pause()
            return pauses < Int(limit / .microseconds(2500))
        }
    }
}
