import CPenstockPostgres
import Foundation
import PenstockCore

/// Connects to the one of several servers that is wanted, such as the primary of a pair.
///
/// libpq asks one after the other, and waits seconds for each that does not answer: a primary that lost its power or its network would
/// hold up everybody on the way to the one that was promoted. Here the next is asked after a quarter of a second, beside those before, and one
/// that has refused is asked again while others say nothing, since it may be promoted any moment.
///
/// Source: RFC 8305, "Happy Eyeballs", for the delay.
struct Dialing {
    enum Outcome {
        case connected(OpaquePointer)
        case refused(String)
    }

    private struct Call {
        let host: ServerAddress.Host
        var connection: OpaquePointer?
        var events = Int16(POLLOUT)
        var startsAt: ContinuousClock.Instant
        /// What the last attempt came to.
        var refusal: String?
    }

    private static let headStart = Duration.milliseconds(250)
    private static let againAfter = Duration.milliseconds(300)

    private let address: ServerAddress
    private var calls: [Call]

    /// - Parameter hosts: in the order in which they are preferred.
    init(_ address: ServerAddress, _ hosts: [ServerAddress.Host]) {
        self.address = address
        let start = ContinuousClock.now
        calls = hosts.enumerated().map { Call(host: $1, startsAt: start + Self.headStart * $0) }
    }

    /// Blocks until one is connected, or all have refused, or the time is over.
    ///
    /// - Returns: a connection, which the caller has to end; or why there is none.
    mutating func connect(within duration: Duration) -> Outcome {
        let end = ContinuousClock.now + duration
        defer { for index in calls.indices { hangUp(index) } }
        while true {
            let now = ContinuousClock.now
            for index in calls.indices where calls[index].connection == nil && calls[index].startsAt <= now {
                begin(index)
            }
            if now >= end || calls.allSatisfy({ $0.connection == nil && $0.refusal != nil }) {
                return .refused(refusal)
            }
            wait(until: min(end, calls.filter { $0.connection == nil }.map(\.startsAt).min() ?? end))
            for index in calls.indices {
                guard let connection = calls[index].connection, PQstatus(connection) == CONNECTION_OK else { continue }
                calls[index].connection = nil
                return .connected(connection)
            }
        }
    }

    private var refusal: String {
        let refusals = calls.compactMap(\.refusal)
        return refusals.isEmpty ? "the server does not answer" : refusals.joined(separator: "; ")
    }

    private mutating func begin(_ index: Int) {
        let host = calls[index].host
        guard let connection = address.withParameters(of: host, { PQconnectStartParams($0, $1, 1) }) else { return }
        calls[index].connection = connection
        calls[index].events = Int16(POLLOUT)
        if PQstatus(connection) == CONNECTION_BAD { refused(index) }
    }

    /// Returns when one of them has gone on, or at that moment.
    private mutating func wait(until moment: ContinuousClock.Instant) {
        let waiting = calls.indices.filter { calls[$0].connection != nil }
        var watched = waiting.map { index in
            pollfd(fd: PQsocket(calls[index].connection), events: calls[index].events, revents: 0)
        }
        let left = (moment - .now).wholeMicroseconds
        guard poll(&watched, nfds_t(watched.count), Int32(clamping: max(0, left) / 1000 + 1)) > 0 else { return }
        for (index, one) in zip(waiting, watched) where one.revents != 0 {
            switch PQconnectPoll(calls[index].connection) {
            case PGRES_POLLING_READING: calls[index].events = Int16(POLLIN)
            case PGRES_POLLING_WRITING: calls[index].events = Int16(POLLOUT)
            case PGRES_POLLING_OK: return
            default: refused(index)
            }
        }
    }

    private mutating func refused(_ index: Int) {
        calls[index].refusal = ServerConnection.firstLine(String(cString: PQerrorMessage(calls[index].connection)))
        calls[index].startsAt = .now + Self.againAfter
        hangUp(index)
        // There is nothing to wait for with those that come after it.
        let now = ContinuousClock.now
        for next in calls.indices where calls[next].refusal == nil && calls[next].startsAt > now {
            calls[next].startsAt = now
            break
        }
    }

    private mutating func hangUp(_ index: Int) {
        if let connection = calls[index].connection { PQfinish(connection) }
        calls[index].connection = nil
    }
}
