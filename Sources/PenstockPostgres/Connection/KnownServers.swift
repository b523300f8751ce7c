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
    }

    private let state = Mutex(State())

    /// The places in the order in which they are asked: first where the server was found last.
    func inTurn(_ hosts: [ServerAddress.Host]) -> [ServerAddress.Host] {
        guard let first = state.withLock({ $0.host }) else { return hosts }
        return [first] + hosts.filter { $0 != first }
    }

    /// Takes note of where the server is to be looked for first.
    func note(_ host: ServerAddress.Host?) { state.withLock { $0.host = host } }

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
        let (highest, known) = state.withLock { ($0.timeline, $0.system) }
        if timeline == highest { return true }
        let system = system()
        if let highest, timeline < highest, system == nil || known == nil || system == known { return false }
        state.withLock { state in
            // Another connection may have seen a later one meanwhile; that one counts.
            if state.timeline == highest { (state.timeline, state.system) = (timeline, system) }
        }
        return true
    }
}
