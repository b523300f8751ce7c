import PenstockCore
import PenstockSQL

/// What a server, its settings and what else runs on it mean for the queues that lie there.
struct ServerInspection {
    let server: ServerConnection
    let address: ServerAddress
    let bounds: HealthBounds

    static let kinds: Set<HealthFinding.Kind> = [
        .unsafeServer, .noVacuum, .asynchronousStandby, .fewConnections, .wrongClock, .writerHeld,
    ]

    func inspect(_ report: inout HealthReport) throws {
        try inspectSettings(&report)
        try inspectStandbys(&report)
        try inspectConnections(&report)
        try inspectWriterLock(&report)
    }

    private func rows(_ sql: String) throws -> [PostgresRow] { try server.run(sql).rows }

    private func inspectSettings(_ report: inout HealthReport) throws {
        for name in ["fsync", "full_page_writes"] where try isOff(name) {
            report.add(
                .unsafeServer, .error,
                "The server runs with \(name) = off, so a crash of its machine may leave the database damaged, whatever a receipt says; "
                    + "set it to on.")
        }
        for name in ["autovacuum", "track_counts"] where try isOff(name) {
            report.add(
                .noVacuum, .error,
                "The server runs with \(name) = off, so nobody removes what each claim leaves behind, and the tables grow; "
                    + "set it to on.")
        }
        let disabled = try rows(
            """
            SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind = 'r'
                AND reloptions @> ARRAY['autovacuum_enabled=false'] ORDER BY relname
            """)
        for table in disabled {
            let name = try table.text("name") ?? ""
            report.add(
                .noVacuum, .error,
                "Nobody vacuums \(name): autovacuum_enabled is false there; `ALTER TABLE \(name) RESET (autovacuum_enabled)`."
            )
        }
    }

    private func isOff(_ setting: String) throws -> Bool {
        try rows("SELECT current_setting('\(setting)') AS value")[0].text("value") == "off"
    }

    /// What `powerLoss` says is that a message is on the disk, and where the server waits for standbys, on theirs.
    private func inspectStandbys(_ report: inout HealthReport) throws {
        if report.server?.isStandby == true { return }
        let names = try rows("SELECT current_setting('synchronous_standby_names') AS value")[0].text("value") ?? ""
        // Backups, archives of the log and subscribers read it as a standby does, and take over from nobody.
        let standbys = try rows(
            """
            SELECT application_name AS name, sync_state AS state,
                coalesce(state, '') <> 'backup' AND application_name NOT IN ('pg_basebackup', 'pg_receivewal')
                AND NOT EXISTS (SELECT FROM pg_replication_slots WHERE active_pid = pid AND slot_type = 'logical') AS follows
            FROM pg_stat_replication ORDER BY application_name
            """)
        // A role without `pg_read_all_stats` sees that a standby is there, and not how it stands.
        if !names.isEmpty, try standbys.contains(where: { try $0.text("state") == nil }) {
            report.unchecked.insert(.asynchronousStandby)
            return
        }
        let isConfirmed = try standbys.contains { ["sync", "quorum"].contains(try $0.text("state")) }
        if names.isEmpty, let standby = try standbys.first(where: { try $0.bool("follows") == true })?.text("name") {
            report.add(
                .asynchronousStandby, .warning,
                "The standby '\(standby)' is asynchronous, so messages with a receipt that says powerLoss are lost when it takes over; name "
                    + "it in synchronous_standby_names, or accept that.")
        } else if !names.isEmpty, !isConfirmed {
            report.add(
                .asynchronousStandby, .error,
                "The server waits for a standby (synchronous_standby_names is '\(names)') and none is there, so no enqueue with powerLoss "
                    + "ends; start the standby, or take its name out.")
        }
    }

    private func inspectConnections(_ report: inout HealthReport) throws {
        guard let server = report.server else { return }
        let left = server.connectionsMax - server.connectionCount
        if left * 100 < server.connectionsMax * bounds.connectionsLeft {
            report.add(
                .fewConnections, .warning,
                "\(server.connectionCount) of \(server.connectionsMax) connections are taken, and a process of Penstock's takes up to seven, "
                    + "or eleven with transactions of its own; raise max_connections, or run fewer processes with more handlers each."
            )
        }
        let seconds = abs(server.clockAhead.components.seconds)
        if server.clockAhead > bounds.clockOff || server.clockAhead < .zero - bounds.clockOff {
            report.add(
                .wrongClock, .warning,
                "The server's clock is \(seconds) s \(server.clockAhead > .zero ? "ahead of" : "behind") this machine's, and by the "
                    + "server's messages are due, leases end and schedules fire; have both follow a time server.")
        }
    }

    /// Whether a row of `pg_locks` is the store's writer lock. In a database that was made of another one the tables have the same numbers.
    private static let isWriterLock = """
        held.locktype = 'advisory' AND held.objsubid = 1 AND held.granted AND held.classid = 1346719315
            AND held.objid = to_regclass('penstock_state')::OID
            AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """

    /// Somebody who holds the right to write and does nothing holds up all that write.
    private func inspectWriterLock(_ report: inout HealthReport) throws {
        let holders = try rows(
            """
            SELECT activity.pid, activity.application_name AS name,
                extract(epoch FROM clock_timestamp() - activity.state_change)::BIGINT AS seconds
            FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
            WHERE \(Self.isWriterLock) AND activity.state LIKE 'idle in transaction%'
                AND activity.state_change < clock_timestamp() - make_interval(secs => \(bounds.writerHeld.components.seconds))
            """)
        for holder in holders {
            report.add(
                .writerHeld, .error,
                "Process \(try holder.text("pid") ?? "?") of the server ('\(try holder.text("name") ?? "")') has the right to write to the "
                    + "queues and has done nothing for \(try holder.text("seconds") ?? "?") s, so nobody enqueues or claims; end its "
                    + "transaction, as with pg_terminate_backend.")
        }
        // One that was prepared has no session. By the lock on its number it is known which one it is.
        let prepared = try rows(
            """
            SELECT prepared.gid AS name, extract(epoch FROM clock_timestamp() - prepared.prepared)::BIGINT AS seconds
            FROM pg_locks AS held JOIN pg_locks AS own ON own.virtualtransaction = held.virtualtransaction
                JOIN pg_prepared_xacts AS prepared ON prepared.transaction = own.transactionid
            WHERE \(Self.isWriterLock) AND held.pid IS NULL AND own.pid IS NULL AND own.locktype = 'transactionid'
                AND prepared.prepared < clock_timestamp() - make_interval(secs => \(bounds.writerHeld.components.seconds))
            """)
        for transaction in prepared {
            let name = try transaction.text("name") ?? ""
            report.add(
                .writerHeld, .error,
                "The transaction '\(name)' was prepared \(try transaction.text("seconds") ?? "?") s ago and has the right to write to the "
                    + "queues, so nobody enqueues or claims, also after a restart of the server; `COMMIT PREPARED '\(name)'` or `ROLLBACK "
                    + "PREPARED '\(name)'`.")
        }
    }
}

/// From where on a number is a finding.
package struct HealthBounds: Sendable {
    /// For how long a living worker may hold one message.
    package var stuckAfter = Duration.seconds(3600)
    /// For how long a transaction may be open that holds vacuum back.
    package var vacuumHeld = Duration.seconds(600)
    /// How many transactions a slot, or a standby, may be behind that holds vacuum back.
    package var agesHeld = 1_000_000
    /// How many bytes of its log the server may keep for one slot.
    package var logBytesHeld = 1 << 30
    /// How many dead rows a table may have that has fewer living ones.
    package var deadRows = 100_000
    /// How many bytes a table may have of which the rows are worth a tenth.
    package var tableBytes = 64 << 20
    /// How many hundredths of the connections must be free.
    package var connectionsLeft = 10
    /// How far the clocks may be apart.
    package var clockOff = Duration.seconds(5)
    /// For how long a session that has the right to write may do nothing.
    package var writerHeld = Duration.seconds(5)
    /// For how long the rows may be looked through.
    package var rowsMax = Duration.seconds(4 * 3600)

    package init() {}
}
