import PenstockCore

/// What schedules and workflows are called where they arrive. Since the move began the target may have given their names to its own.
enum ArrivingNames {
    /// Rows of a table as they are named in the target. A workflow that was given no name is called after its first task, and so others are
    /// in every store: where the target has one of that name, it gets the one that its number has there.
    ///
    /// - Throws: `queueExists` for a schedule or a workflow whose name was chosen, and which the target has as well.
    static func named(
        _ rows: [[CopiedValue]], of table: CopiedTable, _ place: CopyPlace, _ connection: Connection
    ) throws -> [[CopiedValue]] {
        guard let index = table.columns.firstIndex(where: { $0.name == "name" }) else { return rows }
        switch table.name {
        case "schedule":
            for case .text(let name) in rows.map({ $0[index] }) {
                if try connection.has(scheduleNamed, .text(name)) {
                    throw clash(of: "schedule", called: name, "remove it there and run the same `penstock copy` again")
                }
            }
            return rows
        case "workflow": return try workflows(rows, index, place, connection)
        default: return rows
        }
    }

    /// A row may have come before, with another task of its workflow: then it is passed over as it is written. One that has come may have
    /// been called as another one is by choice that comes only now. Nobody knows it by that name yet, and it gets another one.
    private static func workflows(
        _ rows: [[CopiedValue]], _ index: Int, _ place: CopyPlace, _ connection: Connection
    ) throws -> [[CopiedValue]] {
        var taken: Set<WorkflowName> = []
        for case .text(let name) in rows.map({ $0[index] }) { taken.insert(WorkflowName(stored: name)) }
        var called: [Int64] = []
        let named: [[CopiedValue]] = try rows.map { row in
            guard case .text(let text) = row[index], case .integer(let id) = row[0] else { return row }
            let name = WorkflowName(stored: text)
            let own = place.sequence(id)
            guard let found = try Workflows.find(name, connection), found != own else { return row }
            guard name.isMade(for: SequenceNumber(id)) else {
                if name.isMade(for: SequenceNumber(found)),
                    try connection.has(hasArrived, .integer(found), .integer(place.sequenceOffset))
                {
                    called.append(found)
                    return row
                }
                throw clash(
                    of: "workflow", called: text,
                    "let it end, have it forgotten there (`penstock prune QUEUE --retain-count 0`) and run the same `penstock copy` again"
                )
            }
            let made = try Workflows.freeName(own, besides: taken, connection)
            taken.insert(made)
            var row = row
            row[index] = .text(made.text)
            return row
        }
        // Behind all that may be refused.
        for id in called {
            let made = try Workflows.freeName(id, besides: taken, connection)
            try connection.run(rename, .integer(id), .text(made.text))
        }
        return named
    }

    private static func clash(of kind: String, called name: String, _ way: String) -> PenstockError {
        PenstockError(
            .queueExists,
            "The store to which the queues go has got a \(kind) called '\(name)' of its own meanwhile; \(way), or give the copy up "
                + "with `--cancel`.")
    }

    private static let scheduleNamed = Query("SELECT id FROM penstock_schedule WHERE name = ?1")
    /// Whether a workflow has come with the same move.
    private static let hasArrived = Query(
        """
        SELECT 1 FROM penstock_arrival
        WHERE finished_at IS NULL AND sequence_offset = ?2 AND ?1 BETWEEN first_sequence AND last_sequence
        """)
    private static let rename = Query("UPDATE penstock_workflow SET name = ?2 WHERE id = ?1")
}
