import Foundation
import GRDB
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// The views are public: their names and columns stay, and what stands in them is for people.
@Suite(.timeLimit(.minutes(5))) struct ViewTests {
    private let harness = SQLiteHarness()

    /// New columns may come at the end; none of these goes, moves or changes its name.
    private static let columns: [(view: String, columns: [String])] = [
        (
            "penstock_messages",
            [
                "sequence", "queue", "state", "reason", "priority", "attempt", "attempts_max", "enqueued_at", "due_at",
                "claimed_at", "finished_at", "worker", "unique_key", "headers", "origin", "payload",
            ]
        ),
        (
            "penstock_queues",
            [
                "queue", "paused", "capacity", "when_full", "scheduled", "ready", "leased", "dead", "kept",
                "enqueued_total", "done_total", "dead_total", "dropped_total", "cancelled_total", "retried_total",
                "reclaimed_total", "deleting",
            ]
        ),
        (
            "penstock_attempts",
            ["sequence", "queue", "attempt", "outcome", "error", "worker", "started_at", "ended_at"]
        ),
        (
            "penstock_dead_letters",
            ["sequence", "queue", "reason", "attempt", "finished_at", "last_error", "payload"]
        ),
        ("penstock_drops", ["sequence", "queue", "policy", "dropped_at", "payload"]),
        ("penstock_workers", ["worker", "name", "process_id", "started_at", "leased"]),
        (
            "penstock_quarantined",
            ["id", "sequence", "queue", "source", "reason", "set_aside_at", "columns", "payload"]
        ),
        ("penstock_cursors", ["queue", "cursor", "sequence", "ahead", "missed", "note", "moved_at"]),
    ]

    @Test func columnsAreStable() async throws {
        let store = try await harness.openStore()
        let program = try ForeignProgram(harness.path)
        for (view, columns) in Self.columns {
            let found = try await program.rows("SELECT name FROM pragma_table_info('\(view)')")
            #expect(Array(found.prefix(columns.count)) == columns, "\(view)")
        }
        try await store.close()
    }

    @Test func eachStateIsShown() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(.bounded(3, .dropOldest), ifAbsent: false))
        for text in ["dropped", "done", "dead", "cancelled"] { try await store.put(.text(text)) }
        let taken = try await store.take(3)
        _ = try await store.settle([Settlement(taken[0].lease, .done)])
        _ = try await store.settle([Settlement(taken[1].lease, .dead(error: "no good"))])
        _ = try await store.apply(.cancel, to: .sequences([taken[2].lease.sequence]))
        try await store.put(.text("leased", key: "k"))
        _ = try await store.take()
        try await store.put(
            NewMessage(payload: Array("ready".utf8), headers: ["a": "b"], priority: 7, origin: SequenceNumber(2)))
        try await store.put(.text("scheduled", due: .after(.seconds(90))))

        let program = try ForeignProgram(harness.path)
        let day = "2025-01-01T00:00:00.000000Z"
        #expect(
            try await program.rows("SELECT payload, state, reason, attempt FROM penstock_messages ORDER BY sequence")
                == [
                    "dropped|dropped|dropOldest|0", "done|done|NULL|1", "dead|dead|rejected|1",
                    "cancelled|cancelled|requested|1", "leased|leased|NULL|1", "ready|ready|NULL|0",
                    "scheduled|scheduled|NULL|0",
                ])
        #expect(
            try await program.rows("SELECT * FROM penstock_messages WHERE sequence = 6")
                == ["6|jobs|ready|NULL|7|0|10|\(day)|NULL|NULL|NULL|NULL|NULL|{\"a\":\"b\"}|2|ready|NULL|NULL|NULL"])
        #expect(
            try await program.rows("SELECT due_at FROM penstock_messages WHERE state = 'scheduled'")
                == ["2025-01-01T00:01:30.000000Z"])
        #expect(
            try await program.rows(
                "SELECT claimed_at, worker IS NOT NULL, unique_key FROM penstock_messages WHERE state = 'leased'")
                == ["\(day)|1|k"])
        #expect(
            try await program.rows("SELECT finished_at FROM penstock_messages WHERE finished_at IS NOT NULL")
                == Array(repeating: day, count: 4))
        #expect(try await program.rows("SELECT * FROM penstock_drops") == ["1|jobs|dropOldest|\(day)|dropped"])
        #expect(
            try await program.rows("SELECT * FROM penstock_dead_letters") == ["3|jobs|rejected|1|\(day)|no good|dead"])
        #expect(
            try await program.rows(
                "SELECT sequence, queue, attempt, outcome, error, started_at, ended_at FROM penstock_attempts")
                == ["3|jobs|1|rejected|no good|\(day)|\(day)"])
        #expect(
            try await program.rows("SELECT process_id, started_at, leased FROM penstock_workers") == [
                "\(getpid())|\(day)|1"
            ])
        #expect(
            try await program.rows("SELECT * FROM penstock_queues")
                == [
                    "jobs|0|3|dropOldest|1|1|1|1|3|7|1|1|1|1|0|0|0|0|0|0|next|NULL|NULL|NULL|NULL|NULL|1|NULL|NULL|1|0|"
                        + "drop"
                ])
        try await store.close()
    }

    /// A cursor that holds settings reads nothing, and would be one that is behind for ever; "amazon-sqs" is another one's name.
    @Test func cursorsAreReadersOfTheirLog() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        for name in [CursorName.settingsPrefix + "1", "amazon-sqs", "mailer"] {
            _ = try await store.moveCursor(
                CursorName(stored: name), of: .jobs, .place(after: SequenceNumber(0), note: "{}"))
        }
        try await store.put(.text("it"))
        let program = try ForeignProgram(harness.path)
        #expect(
            try await program.rows("SELECT cursor, ahead, note FROM penstock_cursors ORDER BY cursor")
                == ["amazon-sqs|1|{}", "mailer|1|{}"])
        #expect(try await program.number("SELECT count(*) FROM penstock_cursor") == 3)
        try await store.close()
    }

    @Test func timesAreShownToTheMicrosecond() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        harness.time.advance(by: .microseconds(7))
        try await store.put(.text("it"))
        #expect(
            try await ForeignProgram(harness.path).rows("SELECT enqueued_at FROM penstock_messages")
                == ["2025-01-01T00:00:00.000007Z"])
        try await store.close()
    }
}
