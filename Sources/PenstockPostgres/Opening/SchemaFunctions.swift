import PenstockCore

/// The functions of a schema. Each looks for tables in the schema that had its name when it was made, as a search path has names in it:
/// `ALTER SCHEMA … RENAME` leaves that as it is, so what is written to a renamed schema by them would come into another store, or nowhere.
struct SchemaFunctions {
    let address: ServerAddress
    let server: ServerConnection

    /// Whether some of them look for tables in a schema of another name.
    var lookElsewhere: Bool {
        get throws { try server.run("SELECT 1 \(elsewhere) LIMIT 1").rowCount > 0 }
    }

    /// What people are told of that.
    var fault: String {
        "The schema \(address.schema) of \(address.description) was renamed, and its functions still go by the name before, so they would "
            + "write to another store; have its owner run `penstock migrate`."
    }

    /// - Throws: `olderSchema` when some look elsewhere.
    func refuseOtherName() throws {
        if try lookElsewhere { throw PenstockError(.olderSchema, fault) }
    }

    /// Has all of them look where they lie.
    func mend() throws {
        let changes = try server.run(
            """
            SELECT format('ALTER FUNCTION %s SET search_path TO %I, pg_temp', routine.oid::regprocedure, schemas.nspname)
            \(elsewhere)
            """)
        for row in 0..<changes.rowCount { try server.run(changes.text(row, 0)) }
    }

    /// Those whose search path is without the schema's name. A path that somebody has made longer will do.
    private var elsewhere: String {
        """
        FROM pg_proc AS routine JOIN pg_namespace AS schemas ON schemas.oid = routine.pronamespace
            CROSS JOIN LATERAL unnest(routine.proconfig) AS setting
        WHERE schemas.nspname = \(ServerConnection.quoted(text: address.schema)) AND routine.proname LIKE 'penstock\\_%'
            AND setting LIKE 'search\\_path=%'
            AND strpos(', ' || substr(setting, length('search_path=') + 1) || ',', ', ' || quote_ident(schemas.nspname) || ',') = 0
        """
    }
}
