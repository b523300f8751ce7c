import CPenstockPostgres
import PenstockCore
import PenstockSQL
import Synchronization

/// The clock of the server, by which all processes on it go: machines have clocks of their own, and a lease that one of them gives
/// must end at the same moment for all.
///
/// Between two answers of the server it goes on with this machine's.
final class ServerClock: TimeSource {
    private let own = SystemTime()
    /// By how much the server's clock is ahead of this machine's boot clock, in microseconds.
    private let ahead = Mutex<Int64>(0)

    /// Asks the server for the time, on a connection that has prepared nothing yet.
    func read(_ server: ServerConnection) throws {
        let answer = try server.run("SELECT \(Self.reading)")
        if answer.rowCount == 1, let time = Int64(answer.text(0, 0)) { note(time) }
    }

    /// Takes the server's time, in microseconds, which has just come. Its way is part of the difference; it is well under a millisecond, or all else is
    /// slow, too.
    func note(_ time: Int64) {
        let boot = own.boot.microseconds
        ahead.withLock { $0 = time - boot }
    }

    /// The server's time in microseconds, in SQL.
    static let reading = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

    private var microseconds: Int64 { own.boot.microseconds + ahead.withLock { $0 } }

    var now: Timestamp { Timestamp(microseconds: microseconds) }
    var boot: BootTime { BootTime(bootID: "server", microseconds: microseconds) }

    func sleep(until deadline: Timestamp) async throws {
        let left = min(deadline - now, .seconds(15))
        if left > .zero { try await own.sleep(for: left) }
    }

    func sleep(for duration: Duration) async throws { try await own.sleep(for: duration) }
}
