import Foundation
import GRDB
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// What may stand in an INSERT, and what is refused, with which words.
@Suite(.timeLimit(.minutes(5))) struct PlainInsertValueTests {
    private let folder = TemporaryFolder()
    private let path: String

    init() throws {
        path = folder.file("queue.db")
    }

    private static let contents = [
        "SELECT * FROM penstock_log", "SELECT * FROM penstock_ready", "SELECT * FROM penstock_scheduled",
        "SELECT * FROM penstock_outcome", "SELECT * FROM penstock_unique", "SELECT * FROM penstock_unique_period",
        "SELECT * FROM penstock_depth", "SELECT * FROM penstock_state", "SELECT * FROM penstock_expiry",
    ]

    private func contents(_ program: ForeignProgram) async throws -> [[String]] {
        var all: [[String]] = []
        for sql in Self.contents { all.append(try await program.rows(sql)) }
        return all
    }

    private static let headers =
        "penstock: headers are 64 and 16384 bytes at most, each named by 1 to 100 letters, "
        + "digits, -, _ or ."

    private static let noQueue = "penstock: there is no queue of that name"
    private static let noPayload = "penstock: payload must be given"
    private static let priority = "penstock: priority must be an integer from -100 to 100"
    private static let attempts = "penstock: attempts_max must be an integer from 1 to 1000"
    private static let noObject = "penstock: headers must be a JSON object of strings, as text"
    private static let sameHeader = "penstock: two headers have the same name but for case and punctuation"
    private static let expiresAt = "penstock: expires_at must be ISO 8601 text or integer microseconds"
    private static let dueTooLate = "penstock: due_at cannot be more than ten years ahead"
    private static let expiresTooLate = "penstock: expires_at cannot be more than ten years ahead"
    private static let expiresTooEarly = "penstock: expires_at cannot be before 1970"
    private static let full = "penstock: the queue is full"
    private static let dueAt = "penstock: due_at must be ISO 8601 text or integer microseconds"
    private static let uniqueKey = "penstock: unique_key must be text of 1 to 500 bytes, none of them zero"

    private static let keyScope =
        "penstock: key_scope must be NULL, 0 or 1000 to 31622400000000 microseconds, with a unique_key"

    /// Columns and values, and how they are refused.
    private static let refused: [(columns: String, values: String, message: String)] = [
        ("queue, payload", "'nowhere', 'x'", noQueue),
        ("queue, payload", "NULL, 'x'", noQueue),
        ("payload", "'x'", noQueue),
        ("queue", "'jobs'", noPayload),
        ("queue, payload", "'jobs', NULL", noPayload),
        (
            "queue, payload", "'jobs', zeroblob(16777217)",
            "penstock: payload has more than 16777216 bytes (payloadBytesMax)"
        ),
        ("queue, payload, priority", "'jobs', 'x', 101", priority),
        ("queue, payload, priority", "'jobs', 'x', -101", priority),
        ("queue, payload, priority", "'jobs', 'x', 'high'", priority),
        ("queue, payload, priority", "'jobs', 'x', 1.5", priority),
        ("queue, payload, attempts_max", "'jobs', 'x', 0", attempts),
        ("queue, payload, attempts_max", "'jobs', 'x', 1001", attempts),
        ("queue, payload, headers", "'jobs', 'x', 'a=1'", noObject),
        ("queue, payload, headers", "'jobs', 'x', '[]'", noObject),
        ("queue, payload, headers", "'jobs', 'x', '{\"a\": 1}'", noObject),
        ("queue, payload, headers", "'jobs', 'x', x'7b7d'", noObject),
        ("queue, payload, headers", "'jobs', 'x', '{\"\": \"x\"}'", headers),
        ("queue, payload, headers", "'jobs', 'x', '{\"a b\": \"x\"}'", headers),
        ("queue, payload, headers", "'jobs', 'x', '{\"a=\": \"x\"}'", headers),
        ("queue, payload, headers", "'jobs', 'x', '{\"é\": \"x\"}'", headers),
        ("queue, payload, headers", "'jobs', 'x', json_object(printf('%.101c', 'n'), 'x')", headers),
        ("queue, payload, headers", "'jobs', 'x', json_object('n', printf('%.16384c', 'v'))", headers),
        (
            "queue, payload, headers",
            "'jobs', 'x', (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 65) "
                + "SELECT json_group_object('n' || i, '') FROM n)", headers
        ),
        ("queue, payload, headers", "'jobs', 'x', '{\"a-b\": \"1\", \"A_B\": \"2\"}'", sameHeader),
        ("queue, payload, headers", "'jobs', 'x', '{\"a\": \"1\", \"a\": \"2\"}'", sameHeader),
        ("queue, payload, headers", "'jobs', 'x', '{\"a\": \"\\u0000\"}'", "penstock: headers cannot hold zero bytes"),
        ("queue, payload, due_at", "'jobs', 'x', 'tomorrow'", dueAt),
        ("queue, payload, due_at", "'jobs', 'x', 'now'", dueAt),
        ("queue, payload, due_at", "'jobs', 'x', '12:00'", dueAt),
        ("queue, payload, due_at", "'jobs', 'x', '2030-13-01'", dueAt),
        ("queue, payload, due_at", "'jobs', 'x', '2030-02-31T12:00:00Z'", dueAt),
        ("queue, payload, due_at", "'jobs', 'x', '2030-01-01' || char(0) || 'T12:00:00Z'", dueAt),
        ("queue, payload, expires_at", "'jobs', 'x', '2031-02-29'", expiresAt),
        ("queue, payload, due_at", "'jobs', 'x', 1.5", dueAt),
        // Seconds, which would be due at once, and the last microsecond before 2000.
        ("queue, payload, due_at", "'jobs', 'x', 1893456000", dueAt),
        ("queue, payload, due_at", "'jobs', 'x', 946684799999999", dueAt),
        ("queue, payload, due_at", "'jobs', 'x', '9999-12-31'", dueTooLate),
        ("queue, payload, due_at", "'jobs', 'x', 9223372036854775807", dueTooLate),
        ("queue, payload, unique_key", "'jobs', 'x', ''", uniqueKey),
        ("queue, payload, unique_key", "'jobs', 'x', printf('%.501c', 'k')", uniqueKey),
        ("queue, payload, unique_key", "'jobs', 'x', 'a' || char(0)", uniqueKey),
        ("queue, payload, unique_key", "'jobs', 'x', CAST(x'61ff' AS TEXT)", uniqueKey),
        ("queue, payload, unique_key", "'jobs', 'x', CAST(x'c3a980' AS TEXT)", uniqueKey),
        (
            "queue, payload, group_key", "'jobs', 'x', CAST(x'f09f98' AS TEXT)",
            "penstock: group_key must be text of 1 to 500 bytes, none of them zero"
        ),
        ("queue, payload, unique_key", "'jobs', 'x', 7", uniqueKey),
        (
            "queue, payload, unique_key", "'jobs', 'x', 'taken'",
            "penstock: a message with that unique_key waits or runs already"
        ),
        (
            "queue, payload, unique_key", "'jobs', 'x', 'period'",
            "penstock: a message with that unique_key holds it still"
        ),
        ("queue, payload, key_scope", "'jobs', 'x', 0", keyScope),
        ("queue, payload, unique_key, key_scope", "'jobs', 'x', 'k', -1", keyScope),
        ("queue, payload, unique_key, key_scope", "'jobs', 'x', 'k', 999", keyScope),
        ("queue, payload, unique_key, key_scope", "'jobs', 'x', 'k', 31622400000001", keyScope),
        ("queue, payload, unique_key, key_scope", "'jobs', 'x', 'k', 1000.5", keyScope),
        ("queue, payload, unique_key, key_scope", "'jobs', 'x', 'k', '1000'", keyScope),
        ("queue, payload, expires_at", "'jobs', 'x', 'tomorrow'", expiresAt),
        ("queue, payload, expires_at", "'jobs', 'x', 1.5", expiresAt),
        ("queue, payload, expires_at", "'jobs', 'x', 1893456000000", expiresAt),
        ("queue, payload, expires_at", "'jobs', 'x', -1", expiresTooEarly),
        ("queue, payload, expires_at", "'jobs', 'x', '1969-12-31'", expiresTooEarly),
        ("queue, payload, expires_at", "'jobs', 'x', '9999-12-31'", expiresTooLate),
        ("queue, payload, expires_at", "'jobs', 'x', 9223372036854775807", expiresTooLate),
        (
            "queue, payload, due_at, expires_at", "'jobs', 'x', date('now', '+2 days'), date('now', '+2 days')",
            "penstock: the message would expire before it is due, and never start"
        ),
        ("queue, payload", "'full', 'x'", full),
        ("queue, payload", "'waits', 'x'", full),
    ]

    @Test func whatIsRefusedSaysWhyAndChangesNothing() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("holder", key: "taken"))
        try await store.put(
            NewMessage(payload: [], uniqueKey: UniqueKey("period", scope: .period(.seconds(86_400)))))
        for (name, whenFull) in [("full", OverflowPolicy.fail), ("waits", .wait)] {
            try await store.configure(QueueName(name), .create(.bounded(1, whenFull), ifAbsent: false))
            try await store.put(.text("there"), to: QueueName(name))
        }
        let program = try ForeignProgram(path)
        let before = try await contents(program)
        for (columns, values, message) in Self.refused {
            // None of SQLite's ways round a conflict is a way round a rule.
            for verb in ["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL"] {
                let error = await #expect(throws: DatabaseError.self, "\(values)") {
                    try await program.run("\(verb) INTO penstock_messages (\(columns)) VALUES (\(values))")
                }
                #expect(error?.message == message, "\(values)")
            }
            #expect(try await contents(program) == before, "\(values)")
        }
        try await store.close()
    }

    @Test func theLimitsThemselvesAreAllowed() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let program = try ForeignProgram(path)
        for values in [
            "zeroblob(16777216), 100, 1000, printf('%.500c', 'k'), NULL, NULL",
            "'x', -100, 1, 'k', '2020-01-01', json_object(printf('%.100c', 'n'), printf('%.16284c', 'v'))",
            "'x', NULL, NULL, NULL, (SELECT now + 315359999000000 FROM penstock_now), '{}'",
            "'x', NULL, NULL, NULL, -5, '{\"a\": \"\\\\u0000\"}'",
        ] {
            try await program.run(
                """
                INSERT INTO penstock_messages (queue, payload, priority, attempts_max, unique_key, due_at, headers)
                VALUES ('jobs', \(values))
                """)
        }
        let records = try await store.messages(MessageQuery())
        #expect(records.map(\.state) == [.ready, .ready, .scheduled, .ready])
        #expect(records[0].payloadBytes == Limits.payloadBytesMax)
        #expect(records[1].headers.first?.value.utf8.count == 16284)
        #expect(records[2].headers == [:])
        #expect(records[3].headers == ["a": "\\u0000"])
        try await store.close()
    }

    @Test func payloadsAreBytes() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let shell = SQLiteShell(path: path)
        for value in ["'text'", "x'fffe00ff'", "''", "x''", "'a' || char(0) || 'b'", "42", "1.5", "'grüß'"] {
            let answer = try await shell.run(
                "INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', \(value));")
            #expect(answer.succeeded, "\(answer.errors)")
        }
        let payloads = try await store.take(10).map(\.payload)
        #expect(
            payloads == [
                Array("text".utf8), [0xff, 0xfe, 0, 0xff], [], [], [97, 0, 98], Array("42".utf8), Array("1.5".utf8),
                Array("grüß".utf8),
            ])
        try await store.close()
    }

    private static let day = ComingDay(month: 6, day: 1)

    /// SQLite's own functions read milliseconds; a due time that was copied from a view must not become earlier.
    @Test(arguments: [
        ("T12:00:00.123456Z", 43_200_123_456), ("T12:00:00.9999999Z", 43_200_999_999),
        ("T12:00:00.5+02:00", 36_000_500_000), (" 12:00:00", 43_200_000_000),
        ("", 0), ("T12:00", 43_200_000_000), ("T12:00:00.000001", 43_200_000_001),
    ])
    func dueTimesAreReadToTheMicrosecond(_ time: String, _ microseconds: Int64) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await ForeignProgram(path).run(
            "INSERT INTO penstock_messages (queue, payload, due_at) VALUES ('jobs', 'x', ?)", [Self.day.text + time])
        let due = Timestamp(microseconds: Self.day.start + microseconds)
        #expect(try await store.messages(MessageQuery()).map(\.due) == [due])
        try await store.close()
    }

    @Test(arguments: [
        ("'DAYT12:00:00.123456Z'", 43_200_123_456), ("'DAYT12:00:00+02:00'", 36_000_000_000), ("'DAY'", 0),
        ("NUMBER", 43_200_000_001),
    ])
    func timesToExpireAtAreReadToTheMicrosecond(_ value: String, _ microseconds: Int64) async throws {
        let moment = Self.day.start + microseconds
        let value = value.replacing("DAY", with: Self.day.text).replacing("NUMBER", with: "\(moment)")
        try await requireExpiry(value, isReadAs: moment, countLeft: 1)
    }

    /// What is past has expired, as what was due is due: neither is refused.
    @Test func aTimeToExpireAtMayBePast() async throws {
        try await requireExpiry("946684800000000", isReadAs: 946_684_800_000_000, countLeft: 0)
    }

    private func requireExpiry(_ value: String, isReadAs microseconds: Int64, countLeft: Int) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await ForeignProgram(path).run(
            "INSERT INTO penstock_messages (queue, payload, due_at, expires_at) VALUES ('jobs', 'x', '2020-01-01', \(value))"
        )
        #expect(try await store.messages(MessageQuery()).map(\.expiresAt) == [Timestamp(microseconds: microseconds)])
        #expect(try await store.take(1).count == countLeft)
        try await store.close()
    }

    @Test func aTransactionThatIsRolledBackLeavesNothing() async throws {
        let store = try await SQLiteStore.openWithJobs(path, .bounded(1, .dropOldest))
        try await store.put(.text("stays", key: "k"))
        let program = try ForeignProgram(path)
        let before = try await contents(program)
        try await program.run(
            """
            BEGIN; INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'a'), ('jobs', 'b'); ROLLBACK
            """)
        #expect(try await contents(program) == before)
        try await program.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'next')")
        #expect(try await store.messages(MessageQuery()).map(\.sequence.rawValue) == [1, 2])
        try await store.close()
    }
}
