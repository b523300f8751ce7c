import Testing

@testable import PenstockPostgres

/// What becomes of statements that were written for both engines.
struct DialectTests {
    @Test(
        arguments: [
            ("SELECT a FROM t WHERE b = ?1 AND c = ?2", "SELECT a FROM t WHERE b = $1 AND c = $2"),
            ("INSERT INTO t (a, b) VALUES (?, ?), (?, ?)", "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)"),
            ("SELECT 1 FROM t INDEXED BY t_a WHERE a = ?1", "SELECT 1 FROM t WHERE a = $1"),
            ("SELECT 1 FROM t NOT INDEXED ORDER BY a", "SELECT 1 FROM t ORDER BY a"),
            ("SELECT 1 FROM t CROSS JOIN u AS v ON v.a = t.a", "SELECT 1 FROM t JOIN u AS v ON v.a = t.a"),
            (
                "DELETE FROM t WHERE a IN (SELECT value FROM json_each(?1))",
                "DELETE FROM t WHERE a IN (SELECT value FROM penstock_json_each($1))"
            ),
            ("INSERT OR IGNORE INTO t (a) VALUES (?1)", "INSERT INTO t (a) VALUES ($1) ON CONFLICT DO NOTHING"),
            (
                "INSERT OR REPLACE INTO penstock_result (sequence, result) VALUES (?1, ?2)",
                "INSERT INTO penstock_result (sequence, result) VALUES ($1, $2) ON CONFLICT (sequence) DO UPDATE SET result = excluded.result"
            ),
            (
                "INSERT OR REPLACE INTO penstock_dependency (parent, child, need) VALUES (?, ?, ?)",
                "INSERT INTO penstock_dependency (parent, child, need) VALUES ($1, $2, $3) ON CONFLICT (parent, child) DO UPDATE SET need = excluded.need"
            ),
            ("UPDATE t SET a = ?1 WHERE b IS ?2", "UPDATE t SET a = $1 WHERE b IS NOT DISTINCT FROM $2"),
            (
                "UPDATE t SET a = 1 WHERE (a, b) IS NOT (?1, ?2)",
                "UPDATE t SET a = 1 WHERE (a, b) IS DISTINCT FROM ($1, $2)"
            ),
            ("SELECT 1 FROM t WHERE a IS NOT NULL AND b IS NULL", "SELECT 1 FROM t WHERE a IS NOT NULL AND b IS NULL"),
            ("SELECT CAST(a.error AS BLOB), CAST(?1 AS BLOB)", "SELECT penstock_bytes(a.error), CAST($1 AS BYTEA)"),
            ("SELECT 1 WHERE a = 1 AND marks & 512 ORDER BY b", "SELECT 1 WHERE a = 1 AND marks & 512 <> 0 ORDER BY b"),
        ])
    func saysTheSame(_ sqlite: String, _ postgres: String) {
        #expect(Dialect.statement(sqlite).sql == postgres)
    }

    /// Rows that were asked for beforehand are asked for anew when one of their tables was written meanwhile.
    @Test func aStatementSaysWhatItReadsAndWrites() {
        let join = Dialect.statement("SELECT 1 FROM penstock_ready AS ready JOIN penstock_log AS log ON TRUE")
        #expect(join.effect == .none)
        #expect(join.tables == ["penstock_ready", "penstock_log"])
        #expect(Dialect.statement("UPDATE penstock_depth SET ready = ?1").effect == .writes(["penstock_depth"]))
        #expect(
            Dialect.statement("INSERT OR IGNORE INTO penstock_share (a) VALUES (?1)").effect
                == .writes(["penstock_share"]))
        #expect(
            Dialect.statement("DELETE FROM penstock_lease WHERE sequence = ?1").effect == .writes(["penstock_lease"]))
        #expect(
            Dialect.statement(
                "WITH taken AS (DELETE FROM penstock_ready RETURNING a) INSERT INTO penstock_lease SELECT a FROM taken"
            ).effect == .writes(["penstock_ready", "penstock_lease"]))
        // Triggers go on to other tables, and a savepoint may be gone back to.
        #expect(Dialect.statement("UPDATE penstock_queue SET paused = 1").effect == .unknown)
        #expect(Dialect.statement("ROLLBACK TO penstock_nested").effect == .unknown)
    }

    @Test func aStatementNamesItsParameters() {
        #expect(Dialect.statement("SELECT ?1 WHERE a = ?12 AND b = ?1").parameters == [1, 12])
        #expect(Dialect.statement("SELECT 1").parameters.isEmpty)
    }
}
