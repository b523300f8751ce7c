import PenstockCore
import PenstockSQL

/// Whether what claims leave behind is removed: rows of the line come and go by the thousand, and a table that is not vacuumed
/// makes every claim pass over the dead ones.
struct VacuumInspection {
    let server: ServerConnection
    let bounds: HealthBounds

    func inspect(_ report: inout HealthReport) throws {
        try inspectTransactions(&report)
        try inspectPrepared(&report)
        try inspectSlots(&report)
        try inspectFeedback(&report)
        try inspectTables(&report)
    }

    private func rows(_ sql: String) throws -> [PostgresRow] { try server.run(sql).rows }

    private var held: String { "make_interval(secs => \(bounds.vacuumHeld.components.seconds))" }
    private static let why = "and nothing that was deleted since can be removed, so its tables grow"

    private func inspectTransactions(_ report: inout HealthReport) throws {
        let open = try rows(
            """
            SELECT pid, application_name AS name, coalesce(state, 'unknown') AS state,
                extract(epoch FROM clock_timestamp() - xact_start)::BIGINT AS seconds
            FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
                AND datname = current_database() AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
                AND xact_start < clock_timestamp() - \(held)
            ORDER BY xact_start LIMIT 5
            """)
        for row in open {
            report.add(
                .vacuumHeld, .warning,
                "Process \(try row.text("pid") ?? "?") of the server ('\(try row.text("name") ?? "")', \(try row.text("state") ?? "")) has "
                    + "a transaction open for \(try row.text("seconds") ?? "?") s, \(Self.why); end it.")
        }
    }

    private func inspectPrepared(_ report: inout HealthReport) throws {
        let prepared = try rows(
            """
            SELECT gid AS name, extract(epoch FROM clock_timestamp() - prepared)::BIGINT AS seconds FROM pg_prepared_xacts
            WHERE database = current_database() AND prepared < clock_timestamp() - \(held) ORDER BY prepared LIMIT 5
            """)
        for row in prepared {
            let name = try row.text("name") ?? ""
            report.add(
                .vacuumHeld, .warning,
                "The transaction '\(name)' was prepared \(try row.text("seconds") ?? "?") s ago and not ended, \(Self.why); `COMMIT PREPARED "
                    + "'\(name)'` or `ROLLBACK PREPARED '\(name)'`.")
        }
    }

    private func inspectSlots(_ report: inout HealthReport) throws {
        let position = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END"
        // What a logical slot keeps of the catalog holds back nothing in the store's tables.
        let slots = try rows(
            """
            SELECT slot_name AS name, active, coalesce(age(xmin), 0) AS age,
                coalesce(pg_wal_lsn_diff(\(position), restart_lsn), 0)::BIGINT AS bytes
            FROM pg_replication_slots ORDER BY slot_name
            """)
        for slot in slots {
            let name = try slot.text("name") ?? ""
            let what =
                "The replication slot '\(name)', which \(try slot.bool("active") == true ? "is in use" : "nobody uses"),"
            if let age = try slot.integer("age"), age > bounds.agesHeld {
                report.add(
                    .vacuumHeld, .warning,
                    "\(what) is \(age) transactions behind, \(Self.why); start who reads from it, or `SELECT "
                        + "pg_drop_replication_slot('\(name)')`.")
            }
            if let bytes = try slot.integer("bytes"), bytes > bounds.logBytesHeld {
                report.add(
                    .walHeld, .warning,
                    "\(what) has the server keep \(bytes) bytes of its write-ahead log, until the disk is full and nothing is accepted; "
                        + "start who reads from it, drop it, or bound it by max_slot_wal_keep_size.")
            }
        }
    }

    private func inspectFeedback(_ report: inout HealthReport) throws {
        let standbys = try rows(
            """
            SELECT application_name AS name, age(backend_xmin) AS age FROM pg_stat_replication
            WHERE age(backend_xmin) > \(bounds.agesHeld)
            """)
        for standby in standbys {
            report.add(
                .vacuumHeld, .warning,
                "A query on the standby '\(try standby.text("name") ?? "")' is \(try standby.text("age") ?? "?") transactions behind "
                    + "(hot_standby_feedback), \(Self.why); end it there.")
        }
    }

    private func inspectTables(_ report: inout HealthReport) throws {
        let tables = try rows(
            """
            SELECT tables.relname AS name, tables.n_live_tup AS live, tables.n_dead_tup AS dead,
                pg_table_size(tables.relid) AS bytes,
                coalesce(extract(epoch FROM clock_timestamp() - greatest(tables.last_vacuum, tables.last_autovacuum))::BIGINT::TEXT
                    || ' s ago', 'never') AS vacuumed
            FROM pg_stat_user_tables AS tables WHERE tables.schemaname = current_schema() ORDER BY tables.relname
            """)
        for table in tables {
            guard let live = try table.integer("live"), let dead = try table.integer("dead"),
                let bytes = try table.integer("bytes")
            else { continue }
            let name = try table.text("name") ?? ""
            let vacuumed = try table.text("vacuumed") ?? "never"
            if dead > bounds.deadRows, dead > live {
                report.add(
                    .bloated, .warning,
                    "\(name) has \(dead) dead rows beside \(live) living ones and was vacuumed \(vacuumed), so all that look there pass over "
                        + "them; see what holds vacuum back, and `VACUUM \(name)`.")
            } else if name != "penstock_log", bytes > bounds.tableBytes, live * Self.rowBytes * 10 < bytes {
                report.add(
                    .bloated, .note,
                    "\(name) has \(bytes) bytes for \(live) rows, which it grew to at some time; that is used again, and `VACUUM FULL \(name)` "
                        + "gives it back while no worker runs.")
            }
        }
    }

    /// What a row of the line takes, about.
    private static let rowBytes: Int64 = 120
}
