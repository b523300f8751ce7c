package import PenstockCore
import Synchronization

/// Since when the messages are leased that are leased still, as far as this process has seen.
///
/// On a server the leases that are gone lie in the table until nobody may see them any more. Those that are made later are made at a
/// later time, so a look need not go further back than the oldest that the last one found. A clock that was set back makes them at an earlier
/// one: a look that finds it so goes through all leases, and so does one in a minute, as nobody may have looked meanwhile.
package final class LeaseHorizon: Sendable {
    private struct Known {
        var firstClaim: Int64?
        var wholeLook: Timestamp?
        /// The latest time at which anybody looked.
        var latest: Timestamp?
    }

    private let time: any TimeSource
    private let known = Mutex(Known())

    /// - Parameter time: the clock by which leases are made.
    package init(by time: any TimeSource) { self.time = time }

    /// From which claim on a look goes; 0: it goes through all leases.
    var start: Int64 {
        let now = time.now
        return known.withLock { known in
            if let latest = known.latest, now < latest - Self.margin { known = Known() }
            known.latest = max(known.latest ?? now, now)
            guard let first = known.firstClaim, let look = known.wholeLook, now - look < Self.wholeLookInterval else {
                known.wholeLook = now
                return 0
            }
            return first - Self.margin.wholeMicroseconds
        }
    }

    /// A look has found the oldest lease.
    func found(_ firstClaim: Int64) { known.withLock { $0.firstClaim = firstClaim } }

    private static let wholeLookInterval = Duration.seconds(60)
    /// By how much the clocks of machines may differ that go by one server's.
    static let margin = Duration.seconds(1)
}
