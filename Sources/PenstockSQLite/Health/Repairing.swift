import GRDB
import PenstockCore
import PenstockSQL

/// Making a file agree with itself again, in one transaction.
///
/// Indexes, views and triggers come first. The log is taken for the truth. A row of the line that contradicts it is set aside in `penstock_quarantine`, so that
/// nothing is lost; a message of the log that has no place in the line becomes a dead letter, since nobody knows whether it
/// was worked; numbers are counted anew. The order matters: each step may rely on those before it.
struct Repairing {
    let database: Database
    let now: Timestamp
    private var repairs: [Repair] = []

    /// Repairs everything, within a transaction of the caller.
    static func perform(_ database: Database, now: Timestamp) throws -> [Repair] {
        var repairing = Repairing(database: database, now: now)
        try repairing.restoreSchema()
        try repairing.restoreState()
        try repairing.setAsideImpossibleNumbers()
        try repairing.setAsideWithoutQueue()
        try repairing.setAsideUnknown()
        try repairing.setAsideSecondPlaces()
        try repairing.removeStrayWorkers()
        try repairing.clearHeaders()
        try repairing.repairTimes()
        try repairing.buryMisplaced()
        try repairing.repairKeys()
        try repairing.repairSequence()
        try repairing.repairCursors()
        try repairing.repairSchedules()
        try repairing.finishDeletions()
        try repairing.repairTasks()
        try repairing.repairGroups()
        try repairing.repairExpiry()
        try repairing.recount()
        return repairing.repairs
    }

    private mutating func restoreSchema() throws {
        let parts = try SchemaParts()
        if let table = try parts.faults(in: database).first(where: { $0.kind == .table }) {
            throw PenstockError(
                .corrupt,
                "The file has lost the table \(table.name) or columns of it; restore it from a copy. Nothing was changed."
            )
        }
        for kind in SchemaParts.Kind.allCases {
            for name in try parts.mend(kind, in: database) {
                repairs.append(Repair(.wrongSchema, 1, "The \(kind.rawValue) \(name) was made anew."))
            }
        }
    }

    private mutating func restoreState() throws {
        try change(
            .wrongSequence, "The row of penstock_state was made anew.",
            "INSERT OR IGNORE INTO penstock_state (id, last_sequence, policy_version) VALUES (1, 0, 1)")
        // A number at its end would make the next step up fail.
        try change(
            .wrongNumbers, "Counters of changes to queues began anew.",
            "UPDATE penstock_state SET policy_version = 0, flush_count = 0 WHERE \(NumberInspection.hasWrongCounters)")
    }

    private mutating func setAsideImpossibleNumbers() throws {
        for source in [.log] + QuarantineSource.line + [.outcome] {
            try setAside(
                .wrongNumbers, source, "{has|have} a sequence number that cannot be",
                where: NumberInspection.hasWrongSequence, because: Quarantine.Reason.sequence)
        }
        // The message keeps its place; the row as it was is kept as well.
        let wrong = NumberInspection.hasWrongAttempts
        for source in QuarantineSource.line {
            try keepCopy(of: source, where: wrong, because: Quarantine.Reason.attempt)
            try change(
                .wrongNumbers,
                "COUNT {row|rows} of \(source.table) had {its|their} attempts counted from 0; a copy was set aside.",
                "UPDATE \(source.table) SET attempt = 0, forgiven = 0 WHERE \(wrong)")
        }
    }

    private mutating func setAsideWithoutQueue() throws {
        for source in QuarantineSource.allCases {
            try setAside(
                source == .cursor ? .strayCursor : .misplaced, source,
                "{belongs|belong} to a queue that does not exist",
                where: "queue_id NOT IN (SELECT id FROM penstock_queue)", because: Quarantine.Reason.noQueue)
        }
        try database.execute(
            sql: "DELETE FROM penstock_depth WHERE queue_id NOT IN (SELECT id FROM penstock_queue)")
    }

    private mutating func setAsideUnknown() throws {
        try change(
            .misplaced, "COUNT {message|messages} of queues that were never fair {has|have} no turn any more.",
            "UPDATE penstock_log SET turn = 0 WHERE \(LineInspection.hasStrayTurn)")
        let isKnown = """
            EXISTS (SELECT 1 FROM penstock_log AS log WHERE log.sequence = line.sequence
                AND log.queue_id = line.queue_id
            """
        for source in QuarantineSource.line {
            // Another place in its queue's order than the log's is put right, as far as the right one is free.
            let order = source == .ready ? ["priority", "turn"] : ["priority"]
            let columns = order.joined(separator: ", ")
            let logged = order.map { "log.\($0)" }.joined(separator: ", ")
            let inLine = order.map { "line.\($0)" }.joined(separator: ", ")
            try change(
                .misplaced,
                "COUNT {row|rows} of \(source.table) got the \(order.joined(separator: " and ")) that the log has.",
                """
                UPDATE OR IGNORE \(source.table) AS line
                SET (\(columns)) = (SELECT \(logged) FROM penstock_log AS log WHERE log.sequence = line.sequence)
                WHERE \(isKnown) AND (\(logged)) <> (\(inLine)))
                """)
            try setAside(
                .misplaced, source, "{is|are} in line and not in the log",
                where: "NOT \(isKnown) AND (\(logged)) = (\(inLine)))", because: Quarantine.Reason.notInLog)
        }
        try setAside(
            .misplaced, .outcome, "ended and {is|are} not in the log", where: "NOT \(isKnown))",
            because: Quarantine.Reason.notInLog)
    }

    private mutating func setAsideSecondPlaces() throws {
        for (source, condition) in Self.secondPlaces {
            try setAside(
                .misplaced, source, "{has|have} another place as well, which counts", where: condition,
                because: "The message has another place in the line, which counts.")
        }
    }

    /// When a row `line` of a table is its message's second place. Of several places the one counts that is furthest along a message's life.
    static var secondPlaces: [(source: QuarantineSource, condition: String)] {
        func isIn(_ tables: [String]) -> String {
            tables.map { "EXISTS (SELECT 1 FROM penstock_\($0) AS other WHERE other.sequence = line.sequence)" }
                .joined(separator: " OR ")
        }
        let ended = """
            EXISTS (SELECT 1 FROM penstock_outcome AS other
                WHERE other.queue_id = line.queue_id AND other.sequence = line.sequence)
            """
        // These lie by their queues first: by the number alone every row would go through all of them.
        let isPending = """
            EXISTS (SELECT 1 FROM penstock_pending AS other
                WHERE other.queue_id = line.queue_id AND other.sequence = line.sequence)
            """
        return [
            (.lease, ended), (.scheduled, "\(ended) OR \(isIn(["lease"]))"),
            (.ready, "\(ended) OR \(isIn(["lease", "scheduled"]))"),
            (.pending, "\(ended) OR \(isIn(["lease", "scheduled"])) OR \(isReady)"),
            (.blocked, "\(ended) OR \(isIn(["lease", "scheduled"])) OR \(isPending) OR \(isReady)"),
        ]
    }

    /// Whether the message of the row `line` of another table is ready, as SQL.
    static let isReady = """
        EXISTS (SELECT 1 FROM penstock_ready AS other WHERE other.queue_id = line.queue_id
            AND other.priority = line.priority AND other.sequence = line.sequence
            AND other.turn = (SELECT turn FROM penstock_log AS log WHERE log.sequence = line.sequence))
        """

    private mutating func buryMisplaced() throws {
        try change(
            .misplaced,
            "COUNT {message|messages} that had no place in the line became {a dead letter|dead letters}; redrive or "
                + "discard {it|them}.",
            """
            INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
            SELECT log.queue_id, log.sequence, 'dead', '\(StateReason.misplaced.rawValue)',
                coalesce((SELECT max(attempt) FROM penstock_attempt AS attempt
                    WHERE attempt.sequence = log.sequence), 0), \(now.microseconds)
            FROM penstock_log AS log WHERE NOT (\(LineInspection.places.joined(separator: " OR ")))
            """)
    }

    private mutating func repairSequence() throws {
        try change(
            .wrongSequence,
            "The next sequence numbers are \(SequenceJump.gap) ahead of every known one, so that none is given twice.",
            """
            UPDATE penstock_state SET last_sequence = \(SequenceJump.known) + \(SequenceJump.gap)
            WHERE last_sequence < (SELECT coalesce(max(sequence), 0) FROM penstock_log)
                OR last_sequence NOT BETWEEN 0 AND \(SequenceJump.lastMax)
            """)
    }

    /// Finishes deletions that nobody goes on with. One that would take messages which wait or run is given up.
    private mutating func finishDeletions() throws {
        // One that is copied here says so, too, and waits for the rest.
        let deleting = "deleting AND id NOT IN (\(MoveInspection.arriving))"
        for row in try Row.fetchAll(database, sql: "SELECT id, name FROM penstock_queue WHERE \(deleting)") {
            let id: Int64 = row["id"]
            let open = try Bool.fetchOne(database, sql: "SELECT \(QuarantineSource.hasOpen)", arguments: [id])
            if open == true {
                try change(
                    .deletionUnfinished,
                    "The deletion of '\(row["name"] as String)' was given up, as messages wait or run there.",
                    "UPDATE penstock_queue SET deleting = 0 WHERE id = \(id)")
                continue
            }
            try database.execute(
                sql: """
                    DELETE FROM penstock_attempt
                        WHERE sequence IN (SELECT sequence FROM penstock_log WHERE queue_id = \(id));
                    DELETE FROM penstock_log WHERE queue_id = \(id);
                    DELETE FROM penstock_outcome WHERE queue_id = \(id);
                    DELETE FROM penstock_unique_period WHERE queue_id = \(id);
                    """)
            try change(
                .deletionUnfinished, "The deletion of '\(row["name"] as String)' was finished.",
                "DELETE FROM penstock_queue WHERE id = \(id)")
        }
    }

    private mutating func recount() throws {
        try change(
            .wrongDepths, "COUNT {queue has|queues have} a row in penstock_depth again.", DepthCount.makeMissing)
        let columns = DepthCount.columns.map(\.name) + DepthCount.totals
        func all() throws -> [Row] {
            try Row.fetchAll(
                database, sql: "SELECT \(columns.joined(separator: ", ")) FROM penstock_depth ORDER BY queue_id")
        }
        let before = try all()
        try database.execute(sql: DepthCount.countAll)
        let count = zip(before, try all()).count { $0 != $1 }
        if count > 0 {
            let said = CountedText.sentence("The messages of COUNT {queue|queues} were counted anew.", count)
            repairs.append(Repair(.wrongDepths, count, said))
        }
    }

    mutating func setAside(
        _ kind: HealthFinding.Kind, _ source: QuarantineSource, _ what: String, where condition: String,
        because reason: String
    ) throws {
        try keepCopy(of: source, where: condition, because: reason)
        try change(
            kind, "COUNT {row|rows} of \(source.table) that \(what) {was|were} set aside.",
            source.delete(where: condition))
    }

    /// Runs a statement, and notes what it did if it did anything. The message is a template of ``CountedText`` when it
    /// begins with COUNT.
    mutating func change(_ kind: HealthFinding.Kind, _ message: String, _ sql: String) throws {
        try database.execute(sql: sql)
        let count = database.changesCount
        if count == 0 { return }
        repairs.append(Repair(kind, count, message.hasPrefix("COUNT") ? CountedText.sentence(message, count) : message))
    }
}
