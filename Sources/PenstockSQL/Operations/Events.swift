package import PenstockCore

/// Events from outside, and messages that wait for them.
package enum Events {
    /// Where an event belongs in the table; the other number is 0.
    private struct Place {
        var workflowID: Int64 = 0
        var sequence: Int64 = 0
    }

    /// Carries out one call of ``MessageStore/emit(_:to:durability:)``.
    ///
    /// - Returns: whether the event is the first of its name.
    package static func emit(
        _ event: NewEvent, to target: EventTarget, durability: Durability, in transaction: Transaction
    ) throws -> Bool {
        let connection = transaction.connection
        switch target {
        case .message(let sequence):
            try Journals.requireKnown(sequence, connection)
            let place = Place(sequence: sequence.rawValue)
            if try payload(event.name, at: place, connection) != nil {
                return isKnown(durability, in: transaction)
            }
            let found = try Line.locate(sequence.rawValue, in: transaction)
            guard let entry = found, !entry.state.isFinished else {
                throw target.refusal(dead: found?.state == .dead ? sequence : nil)
            }
            try entry.account.refuseArriving(in: transaction)
            try write(event, place, in: transaction)
            if try Awaiting.name(of: sequence.rawValue, connection) == event.name.text {
                try wake(sequence.rawValue, in: transaction)
            }
        case .workflow(let name):
            guard let id = try Workflows.find(name, connection) else { throw PenstockError.unknown(name) }
            let place = Place(workflowID: id)
            if try payload(event.name, at: place, connection) != nil {
                return isKnown(durability, in: transaction)
            }
            guard try Workflows.hasOpen(id, connection) else {
                let dead = try connection.first(firstDead, .integer(id)) { SequenceNumber($0.integer(0)) }
                throw target.refusal(dead: dead)
            }
            try Workflows.refuseArriving(id, in: transaction)
            try write(event, place, in: transaction)
            transaction.cascade.note(eventFor: id)
            try Cascade.perform(in: transaction)
        }
        return true
    }

    /// What an event brought that a message sees.
    package static func payload(_ name: EventName, for sequence: SequenceNumber, _ connection: Connection) throws
        -> [UInt8]?
    {
        try Journals.requireKnown(sequence, connection)
        return try seen(name, by: sequence.rawValue, connection)
    }

    /// Where a message goes that stops to wait for an event: into the line at once when that is there already, and otherwise to
    /// where it waits, with a mark.
    package static func suspend(
        _ entry: inout LineEntry, until moment: Timestamp, awaiting name: EventName, in transaction: Transaction
    ) throws -> Lifecycle.Outcome? {
        let connection = transaction.connection
        let isThere = try seen(name, by: entry.sequence, connection) != nil
        let verdict = Verdict.suspend(until: isThere ? transaction.now : moment, event: name)
        let outcome = try Line.outcome(of: .settled(verdict), on: entry, in: transaction)
        if outcome?.state == .scheduled {
            let workflowID =
                entry.marks.contains(.task) ? try TaskRows.workflow(of: entry.sequence, connection) : nil
            try Awaiting.begin(entry.sequence, name, workflowID: workflowID, connection)
            entry.marks.insert(.awaitsEvent)
        }
        return outcome
    }

    private static func seen(_ name: EventName, by sequence: Int64, _ connection: Connection) throws -> [UInt8]? {
        if let own = try payload(name, at: Place(sequence: sequence), connection) { return own }
        guard let workflowID = try TaskRows.workflow(of: sequence, connection) else { return nil }
        return try payload(name, at: Place(workflowID: workflowID), connection)
    }

    private static func payload(_ name: EventName, at place: Place, _ connection: Connection) throws -> [UInt8]? {
        try connection.first(
            read, .integer(place.workflowID), .integer(place.sequence), .text(name.text), read: { try $0.bytes(0) })
    }

    /// The first one stays. It may have been committed without a flush; a caller that asks for one is answered after it.
    private static func isKnown(_ durability: Durability, in transaction: Transaction) -> Bool {
        if durability == .powerLoss { transaction.flush() }
        return false
    }

    private static func write(_ event: NewEvent, _ place: Place, in transaction: Transaction) throws {
        let connection = transaction.connection
        let count = try connection.integer(countOf, .integer(place.workflowID), .integer(place.sequence))
        try NewEvent.validate(count: Int((count ?? 0).clamped(to: StoredRange.counts)) + 1)
        try event.payload.withUnsafeBytes { bytes in
            try connection.run(insert) { row in
                row.bind(place.workflowID, at: 1)
                row.bind(place.sequence, at: 2)
                row.bind(event.name.text, at: 3)
                row.bind(uncopied: bytes, at: 4)
                row.bind(transaction.now.microseconds, at: 5)
            }
        }
    }

    /// Puts a message in line that waits for an event. A row of one that does not is removed.
    package static func wake(_ sequence: Int64, in transaction: Transaction) throws {
        guard var entry = try Line.locate(sequence, in: transaction), entry.state == .scheduled else {
            return try Awaiting.end(sequence, transaction.connection)
        }
        // Its row is found here, whatever its mark says.
        entry.marks.insert(.awaitsEvent)
        try Line.move(entry, by: .due, in: transaction)
    }

    private static let read = Query(
        "SELECT payload FROM penstock_event WHERE workflow_id = ?1 AND sequence = ?2 AND name = ?3")
    private static let firstDead = Query(
        """
        SELECT task.sequence FROM penstock_task AS task INDEXED BY penstock_task_workflow
        CROSS JOIN penstock_log AS log ON log.sequence = task.sequence
        WHERE task.workflow_id = ?1 AND EXISTS (SELECT 1 FROM penstock_outcome AS outcome
            WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence AND outcome.state = 'dead')
        ORDER BY task.sequence LIMIT 1
        """)
    private static let countOf = Query(
        "SELECT count(*) FROM penstock_event WHERE workflow_id = ?1 AND sequence = ?2")
    private static let insert = Query(
        """
        INSERT INTO penstock_event (workflow_id, sequence, name, payload, emitted_at) VALUES (?1, ?2, ?3, ?4, ?5)
        """)
}
