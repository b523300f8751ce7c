import PenstockCore

/// Rows of a source that go into its target in one transaction: those between two places of its tables.
struct CopyBatch: Sendable {
    /// How far a copy has come. The messages are the first stage, each of ``CopiedTable/ofQueues`` is another one.
    struct Place: Sendable, Equatable {
        var stage: Int64 = 0
        /// Of the messages the last number in the source that was taken or passed over; of other tables how many rows were taken.
        var position: Int64 = 0
    }

    let from: Place
    /// The place behind the rows.
    let upTo: Place
    /// Rows by the table that they are of.
    private(set) var parts: [(table: CopiedTable, rows: [[CopiedValue]])] = []
    /// How many of the rows are messages.
    private(set) var messages = 0

    /// How many rows of the log are looked at for a batch, messages taken, bytes of them, and rows of another table.
    private enum Bound {
        static let window: Int64 = 20_000
        static let messages: Int64 = 500
        static let bytes: Int64 = 4 << 20
        static let rows: Int64 = 500
        static let schedules: Int64 = 16
    }

    /// The rows behind a place; `nil`: there are no more. The source does not change meanwhile.
    static func read(from place: Place, withLog: Bool, _ connection: Connection) throws -> CopyBatch? {
        if place.stage == 0 { return try messages(from: place, withLog: withLog, connection) }
        let tables = CopiedTable.ofQueues
        guard place.stage <= tables.count else { return nil }
        let table = tables[Int(place.stage) - 1]
        let limit = table.name == "schedule" ? Bound.schedules : Bound.rows
        let rows = try connection.all(
            table.selection, .integer(limit), .integer(place.position), read: { try table.row($0) })
        let next =
            rows.count < limit
            ? Place(stage: place.stage + 1) : Place(stage: place.stage, position: place.position + Int64(rows.count))
        return CopyBatch(from: place, upTo: next, parts: [(table, rows)])
    }

    private static func messages(from place: Place, withLog: Bool, _ connection: Connection) throws -> CopyBatch {
        let window = try connection.first(selectWindow, .integer(place.position), .integer(Bound.window)) {
            $0.optionalInteger(0)
        }
        guard let end = window ?? nil else { return CopyBatch(from: place, upTo: Place(stage: 1)) }
        let found = try connection.all(
            selectMessages, .integer(place.position), .integer(end), .integer(withLog ? 1 : 0),
            .integer(Bound.messages), read: { (sequence: $0.integer(0), bytes: $0.integer(1)) })
        var bytes: Int64 = 0
        let taken = found.prefix { message in
            defer { bytes += message.bytes }
            return bytes < Bound.bytes
        }
        let isWhole = found.count < Bound.messages && taken.count == found.count
        let last = isWhole ? end : taken.last?.sequence ?? end
        var batch = CopyBatch(from: place, upTo: Place(stage: 0, position: last))
        if taken.isEmpty { return batch }
        batch.messages = taken.count
        let list = Value.sequences(taken.map(\.sequence))
        for table in CopiedTable.ofMessages {
            let rows = try connection.all(table.selection, list, read: { try table.row($0) })
            if !rows.isEmpty { batch.parts.append((table, rows)) }
        }
        return batch
    }

    /// Whether a message of the log is copied: it waits, or is dead; or its workflow may need it, or a reader of the log has not come
    /// to it; or all are, where the number `all` is not 0.
    static func isCopied(all: String) -> String {
        """
        (\(all) <> 0 OR NOT EXISTS (SELECT 1 FROM penstock_outcome AS ended
                WHERE ended.queue_id = log.queue_id AND ended.sequence = log.sequence AND ended.state <> 'dead')
            OR EXISTS (SELECT 1 FROM penstock_task AS task WHERE task.sequence = log.sequence)
            OR EXISTS (SELECT 1 FROM penstock_cursor AS reader
                WHERE reader.queue_id = log.queue_id AND reader.sequence < log.sequence
                AND \(Cursors.isOfReader(name: "reader.name"))))
        """
    }

    private static let selectWindow = Query(
        """
        SELECT max(sequence) FROM (
            SELECT sequence FROM penstock_log WHERE sequence > ?1 ORDER BY sequence LIMIT ?2) AS looked_at
        """)
    private static let selectMessages = Query(
        """
        SELECT log.sequence, length(log.payload)
            + coalesce((SELECT length(gave.result) FROM penstock_result AS gave WHERE gave.sequence = log.sequence), 0)
            + coalesce((SELECT sum(length(step.result)) FROM penstock_step AS step WHERE step.sequence = log.sequence), 0)
            + coalesce((SELECT sum(length(event.payload)) FROM penstock_event AS event
                WHERE event.workflow_id = 0 AND event.sequence = log.sequence), 0)
            + coalesce((SELECT sum(length(event.payload)) FROM penstock_task AS task
                CROSS JOIN penstock_event AS event ON event.workflow_id = task.workflow_id AND event.sequence = 0
                WHERE task.sequence = log.sequence AND \(CopiedTable.isFirstTask)), 0)
        FROM penstock_log AS log
        WHERE log.sequence > ?1 AND log.sequence <= ?2 AND \(isCopied(all: "?3"))
        ORDER BY log.sequence LIMIT ?4
        """)
}
