import PenstockCore
import Synchronization

/// How long this process has waited for a server that was away, or stood still, in all.
///
/// Leases go by the server's clock, which goes on meanwhile. So after that many may have ended whose workers live and are about to ask
/// for more time, as after a suspension of the machine.
final class Stalls: Sendable {
    private static let least = Duration.seconds(2)
    private let time = Mutex(Duration.zero)

    var total: Duration { time.withLock { $0 } }

    func note(since start: ContinuousClock.Instant) {
        let waited = ContinuousClock.now - start
        if waited > Self.least { time.withLock { $0 += waited } }
    }
}
