import PenstockCore
import PenstockSQL

/// Whether the counters that number rows are ahead of them. Logical replication brings the rows and leaves the counters, and then each new
/// row is refused until its counter has passed those that are there.
struct CounterInspection {
    let server: ServerConnection

    private static let tables = ["penstock_queue", "penstock_schedule", "penstock_worker", "penstock_quarantine"]

    func inspect(_ report: inout HealthReport) throws {
        for table in Self.tables { try inspect(table, &report) }
    }

    private func inspect(_ table: String, _ report: inout HealthReport) throws {
        let found = try server.run(
            """
            SELECT name, has_sequence_privilege(name, 'SELECT') AS readable, quote_ident(current_schema()) AS schema
            FROM pg_get_serial_sequence('\(table)', 'id') AS name
            """
        ).rows[0]
        guard let counter = try found.text("name"), try found.bool("readable") == true else {
            // A role that inserts needs no right to the counter.
            report.unchecked.insert(.counterBehind)
            return
        }
        let numbers = try server.run(
            """
            SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END AS given,
                (SELECT coalesce(max(id), 0) FROM \(table)) AS used
            FROM \(counter)
            """
        ).rows[0]
        guard let given = try numbers.integer("given"), let used = try numbers.integer("used"), given < used else {
            return
        }
        let place = "\(try found.text("schema") ?? "").\(table)"
        report.add(
            .counterBehind, .error,
            "The counter of \(table) has given \(given), and the table has a row \(used), so new rows are refused; `SELECT "
                + "setval(pg_get_serial_sequence('\(place)', 'id'), max(id)) FROM \(place)` moves it on.")
    }
}
