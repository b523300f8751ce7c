extension ServerConnection {
    /// Which timeline the server's log is of now, in SQL; NULL: it is a standby.
    private static let timelineNow = """
        SELECT CASE WHEN NOT pg_is_in_recovery()
            THEN ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint END
        """

    /// Reads the timeline of the server's log. Some that are like PostgreSQL have none.
    func readTimeline() { timeline = (try? run(Self.timelineNow)).flatMap { Int64($0.text(0, 0)) } }

    /// Which system the server is of; `nil`: the role may not know.
    var system: String? { try? run("SELECT system_identifier FROM pg_control_system()").text(0, 0) }

    /// Whether this process has seen a server of a later timeline: this one is the primary of yesterday.
    var isSuperseded: Bool { address.known.hasSeenLater(than: timeline) }
}
