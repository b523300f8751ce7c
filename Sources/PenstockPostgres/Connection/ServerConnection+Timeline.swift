import CPenstockPostgres

extension ServerConnection {
    /// How long a look at other servers may take.
    private static let lookMax = Duration.seconds(1)

    /// Looks for a server that was promoted since this one was the primary, and takes note of where it is.
    ///
    /// - Parameter others: of a store that writes, which is led to no standby.
    func findsLater(among others: [ServerAddress.Host]) -> Bool {
        let end = ContinuousClock.now + Self.lookMax
        var left = others
        while !left.isEmpty {
            var dialing = Dialing(address, left)
            guard case .connected(let found) = dialing.connect(within: end - .now) else { return false }
            let other = ServerConnection(found, address, silenceMax: Self.lookMax)
            other.readTimeline()
            guard let timeline, (other.timeline ?? 0) <= timeline else {
                address.note(found)
                return true
            }
            // One of the same timeline or of an earlier one is a primary of yesterday. A later one may be slower to answer.
            let count = left.count
            left.removeAll { $0.isServer(of: other.connection) }
            if left.count == count { return false }
        }
        return false
    }

    /// Which timeline the server's log is of now, in SQL; NULL: it is a standby.
    private static let timelineNow = """
        SELECT CASE WHEN NOT pg_is_in_recovery()
            THEN ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint END
        """

    /// Reads the timeline of the server's log. Some that are like PostgreSQL have none.
    func readTimeline() { timeline = (try? run(Self.timelineNow)).flatMap { Int64($0.text(0, 0)) } }

    /// Which system the server is of; `nil`: the role may not know.
    var system: String? { try? run("SELECT system_identifier FROM pg_control_system()").text(0, 0) }

    /// Whether this process has seen a server of a later timeline: this one is the primary of yesterday; or other tables in the place of
    /// those for which the locks of this connection stand.
    var isSuperseded: Bool { address.known.hasSeenLater(than: timeline) || address.known.hasSeenOther(than: table) }
}
