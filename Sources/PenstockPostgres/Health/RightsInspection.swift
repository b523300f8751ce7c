import PenstockCore
import PenstockSQL

/// Whether the role may do what a worker does, and call what all that look and work call.
struct RightsInspection {
    let server: ServerConnection

    func inspect(_ report: inout HealthReport) throws {
        try inspectFunctions(&report)
        try inspectTables(&report)
    }

    /// Everybody may call functions, unless a role's default privileges say otherwise. A trigger's need no right.
    private func inspectFunctions(_ report: inout HealthReport) throws {
        let missing = try server.run(
            """
            SELECT count(*) AS count, min(functions.proname) AS example, current_user AS role FROM pg_proc AS functions
            WHERE functions.pronamespace = to_regnamespace(quote_ident(current_schema()))
                AND functions.prorettype <> 'trigger'::regtype AND NOT has_function_privilege(functions.oid, 'EXECUTE')
            """
        ).rows[0]
        guard let count = try missing.integer("count"), count > 0 else { return }
        report.add(
            .missingRights, .error,
            "The role '\(try missing.text("role") ?? "")' may not call \(count) of the schema's functions, such as "
                + "\(try missing.text("example") ?? "?"), and so neither look nor work; `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA` gives it "
                + "what it needs.")
    }

    private func inspectTables(_ report: inout HealthReport) throws {
        let missing = try server.run(
            """
            SELECT needed.privilege, count(*) AS count, min(tables.relname) AS example, current_user AS role
            FROM pg_class AS tables CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS needed (privilege)
            WHERE tables.relnamespace = to_regnamespace(quote_ident(current_schema())) AND tables.relkind = 'r'
                AND tables.relname LIKE 'penstock\\_%' AND tables.relname <> 'penstock_migration'
                AND NOT has_table_privilege(tables.oid, needed.privilege)
            GROUP BY needed.privilege ORDER BY needed.privilege
            """
        ).rows
        guard let first = missing.first else { return }
        let rights = try missing.map { try $0.text("privilege") ?? "" }.joined(separator: ", ")
        report.add(
            .missingRights, .warning,
            "The role '\(try first.text("role") ?? "")' may look and not work: it lacks \(rights), as on \(try first.text("example") ?? "?"); "
                + "`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA` gives it what a worker needs.")
    }
}
