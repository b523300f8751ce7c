import PenstockCore
import PenstockSQL

/// One look at a store and its server, part by part. A part that cannot be looked at becomes a finding, and the next one is looked at.
struct DatabaseInspection {
    let address: ServerAddress
    let bounds: HealthBounds

    func report() throws -> HealthReport {
        let migrator = try SchemaMigrator(address, busyMax: .seconds(5))
        let server = migrator.server
        var report = HealthReport(path: address.description, schemaVersionKnown: SchemaMigrator.newest)
        let version = try migrator.version()
        report.schemaVersion = version
        report.server = try read(server)
        try inspectSight(server, &report)
        if version > report.schemaVersionKnown {
            report.add(
                .newerSchema, .warning,
                "The database has schema version \(version), and this program knows up to \(report.schemaVersionKnown); use a newer "
                    + "penstock to look at the rest.")
        } else if version < report.schemaVersionKnown {
            report.add(
                .olderSchema, .warning,
                version == 0
                    ? "The schema \(address.schema) has none of Penstock's tables; `penstock migrate` makes them."
                    : "The database has schema version \(version) of \(report.schemaVersionKnown); `penstock migrate` brings it up to date."
            )
        }
        if version > 0 {
            try part("its functions", [.wrongSchema], server, &report) {
                if try migrator.functions.lookElsewhere { $0.add(.wrongSchema, .error, migrator.functions.fault) }
            }
        }
        try part("its sessions", [.pooled], server, &report) {
            try SessionInspection(address: address).inspect(&$0)
        }
        // A whole table is looked through, and not searched in.
        let planner = Sessions.settings(address).map(\.name).filter { $0.hasPrefix("enable_") }
        try server.run(planner.map { "RESET \($0)" }.joined(separator: "; "))
        try part("its settings", ServerInspection.kinds, server, &report) {
            try ServerInspection(server: server, address: address, bounds: bounds).inspect(&$0)
        }
        try part("vacuum", [.vacuumHeld, .walHeld, .bloated], server, &report) {
            try VacuumInspection(server: server, bounds: bounds).inspect(&$0)
        }
        if version == report.schemaVersionKnown {
            try part("the role's rights", [.missingRights], server, &report) {
                try RightsInspection(server: server).inspect(&$0)
            }
            try part("the tables' counters", [.counterBehind], server, &report) {
                try CounterInspection(server: server).inspect(&$0)
            }
            // Each look goes through a whole table, which takes as long as that is large.
            server.deadline = .now + bounds.rowsMax
            try inspectRows(PostgresConnection(server), &report)
        }
        report.sort()
        return report
    }

    /// Of sessions whose doings the role does not see, nothing is said to be well.
    private func inspectSight(_ server: ServerConnection, _ report: inout HealthReport) throws {
        let row = try server.run(
            """
            SELECT pg_has_role('pg_read_all_stats', 'USAGE') AS sees, current_user AS role,
                quote_ident(current_user) AS quoted
            """
        ).rows[0]
        if try row.bool("sees") == true { return }
        let (role, quoted) = (try row.text("role") ?? "", try row.text("quoted") ?? "")
        report.unchecked.formUnion([.vacuumHeld, .writerHeld])
        report.add(
            .unseenSessions, .note,
            "The role '\(role)' sees nothing of what the sessions of other roles do, nor how standbys stand, so those were not looked at; "
                + "`GRANT pg_monitor TO \(quoted)`, or look as a role that has it.")
    }

    private func read(_ server: ServerConnection) throws -> ServerHealth {
        let own = SystemTime()
        let before = own.now
        // What kind another role's session is of may be hidden, and not that it is in a database. There vacuum's workers, which are
        // nobody's, and what subscribers follow take none of the connections of clients.
        let row = try server.run(
            """
            SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS standby,
                (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT AS now,
                (SELECT count(*) FROM pg_stat_activity
                    WHERE backend_type = 'client backend' OR backend_type IS NULL AND datid IS NOT NULL AND usesysid IS NOT NULL
                        AND pid NOT IN (SELECT pid FROM pg_stat_replication)) AS count,
                current_setting('max_connections')::BIGINT - current_setting('superuser_reserved_connections')::BIGINT AS max,
                (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::BIGINT FROM pg_class
                    WHERE relkind = 'r' AND relnamespace = to_regnamespace(quote_ident(current_schema()))) AS bytes
            """
        ).rows[0]
        let after = own.now
        let middle = (before.microseconds + after.microseconds) / 2
        return ServerHealth(
            version: try row.text("version") ?? "", isStandby: try row.bool("standby") ?? false,
            connectionCount: Int(try row.integer("count") ?? 0), connectionsMax: Int(try row.integer("max") ?? 0),
            clockAhead: .microseconds((try row.integer("now") ?? middle) - middle), bytes: try row.integer("bytes") ?? 0
        )
    }

    /// What both engines have in common, in one snapshot.
    private func inspectRows(_ connection: PostgresConnection, _ report: inout HealthReport) throws {
        let server = connection.server
        let clock = ServerClock()
        try clock.read(server)
        // Of a lease whose verdict was said the key may be another message's.
        let said = "SELECT sequence FROM penstock_verdict WHERE state IS NULL"
        try server.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        let ofWorkers: Set<HealthFinding.Kind> = [.deadWorkers, .stuckWorkers, .expiredLeases]
        if report.server?.isStandby == true {
            // Sessions are at the primary.
            report.unchecked.formUnion(ofWorkers)
        } else {
            let locks = SessionLocks()
            try part("workers and leases", ofWorkers, server, &report) {
                try WorkerInspection(stuckAfter: bounds.stuckAfter, time: clock, locks: locks).inspect(connection, &$0)
            }
        }
        for one in RowInspection.ofLine(but: said) + RowInspection.besides {
            try part(one.name, one.kinds, server, &report) { try one.inspect(connection, &$0) }
        }
        try server.run("ROLLBACK")
    }

    /// Carries out one part, which looks for `kinds`. What the server reports on the way becomes a finding.
    private func part(
        _ name: String, _ kinds: Set<HealthFinding.Kind>, _ server: ServerConnection, _ report: inout HealthReport,
        _ body: (inout HealthReport) throws -> Void
    ) throws {
        let isNested = server.isInTransaction
        if isNested { try server.run("SAVEPOINT part") }
        do {
            try body(&report)
        } catch let error as ServerError where !server.isLost {
            if isNested { try server.run("ROLLBACK TO part") }
            report.unchecked.formUnion(kinds)
            report.add(.unreadable, .error, "What the database says of \(name) cannot be read: \(error.message).")
        }
    }
}
