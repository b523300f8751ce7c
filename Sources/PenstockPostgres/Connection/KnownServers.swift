import Synchronization

/// What the connections of one store have found out about its servers, for all of them.
///
/// With each promotion a timeline of the server's log begins, which has a higher number. A server of a lower one than was seen is a primary
/// of yesterday: it may believe to be one still, and what it takes is lost.
///
/// Source: PostgreSQL's manual, "Timelines" of "Continuous Archiving and Point-in-Time Recovery".
final class KnownServers: Sendable {
    private struct State {
        /// The place where the server was found last: of those that can be written there is one.
        var host: ServerAddress.Host?
        /// The highest timeline that was seen, and of which system; another system has timelines of its own.
        var timeline: Int64?
        var system: String?
        /// The places of servers that were refused, and until when they are not asked.
        var refused: [(host: ServerAddress.Host, until: ContinuousClock.Instant)] = []
        /// The number of the store's table that was seen last.
        var table: Int64?
    }

    /// How long a place is not asked where a server was refused. It may answer sooner than the one that counts, again and again.
    private static let refusalTime = Duration.seconds(2)

    private let state = Mutex(State())

    /// The places in the order in which they are asked: first where the server was found last, and not where one was refused lately.
    func inTurn(
        _ hosts: [ServerAddress.Host], now: ContinuousClock.Instant = .now
    ) -> [ServerAddress.Host] {
        state.withLock { state in
            state.refused.removeAll { $0.until <= now }
            let refused = state.refused.map(\.host)
            let left = hosts.filter { !refused.contains($0) }
            let asked = left.isEmpty ? hosts : left
            guard let first = state.host, asked.contains(first) else { return asked }
            return [first] + asked.filter { $0 != first }
        }
    }

    /// Has a place not asked for a while.
    func refuse(_ host: ServerAddress.Host, now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            if state.host == host { state.host = nil }
            state.refused.removeAll { $0.host == host }
            state.refused.append((host, now + Self.refusalTime))
        }
    }

    /// Has all places asked again: those that were left answer no more, so one that was refused may have been promoted.
    func forgetRefusals() { state.withLock { $0.refused = [] } }

    /// Takes note of where the server is to be looked for first.
    func note(_ host: ServerAddress.Host) { state.withLock { $0.host = host } }

    /// Takes note of the number that the store's table has.
    func note(table: Int64) { state.withLock { $0.table = table } }

    /// Whether the store's table was seen last with another number.
    func hasSeenOther(than table: Int64?) -> Bool {
        guard let table else { return false }
        return state.withLock { $0.table.map { $0 != table } ?? false }
    }

    /// Whether a server of a later timeline was seen.
    func hasSeenLater(than timeline: Int64?) -> Bool {
        guard let timeline else { return false }
        return state.withLock { $0.timeline.map { $0 > timeline } ?? false }
    }

    /// Takes note of a server's timeline.
    ///
    /// - Parameter system: asks the server which system it is of, where that counts; `nil`: it does not say.
    /// - Returns: whether it may be used: it is of no earlier timeline than was seen.
    func admits(_ timeline: Int64, system: () -> String?) -> Bool {
        while true {
            let (highest, known) = state.withLock { ($0.timeline, $0.system) }
            if timeline == highest { return true }
            let system = system()
            if let highest, timeline < highest, system == nil || known == nil || system == known { return false }
            let isNoted = state.withLock { state in
                // Another connection may have seen a later one meanwhile; that one counts.
                guard state.timeline == highest else { return false }
                (state.timeline, state.system) = (timeline, system ?? known)
                return true
            }
            if isNoted { return true }
        }
    }
}
