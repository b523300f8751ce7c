import GRDB
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// What plain SQL may not say of a schedule, and in which words it is refused.
@Suite(.timeLimit(.minutes(5))) struct ScheduleRefusalTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    private static let headers = "penstock: headers must be a JSON object of strings, as text"
    private static let uniqueKey = "penstock: unique_key must be text of 1 to 500 bytes, none of them zero"
    private static let times = "penstock: starts_at and ends_at must be ISO 8601 text, in this order"
    private static let fixed =
        "penstock: name, starts_at, ends_at, next_due, problem and totals cannot be changed; make another schedule"

    /// A column, a value, and how it is refused.
    private static let brought: [(column: String, value: String, message: String)] = [
        ("headers", "'[1]'", headers), ("headers", "'{\"a\": 1}'", headers), ("headers", "'a=1'", headers),
        (
            "headers", "'{\"a b\": \"c\"}'",
            "penstock: headers are 64 and 16384 bytes at most, each named by 1 to 100 letters, digits, -, _ or ."
        ),
        (
            "headers", "'{\"a\": \"1\", \"A\": \"2\"}'",
            "penstock: two headers have the same name but for case and punctuation"
        ),
        ("headers", "'{\"a\": \"\\u0000\"}'", "penstock: headers cannot hold zero bytes"),
        ("unique_key", "''", uniqueKey), ("unique_key", "'a' || char(0)", uniqueKey),
        ("unique_key", "CAST(x'61ff' AS TEXT)", uniqueKey),
    ]

    /// A store with a schedule `s`, and a program that knows nothing of it.
    private func open() async throws -> (store: SQLiteStore, program: ForeignProgram) {
        let store = try await SQLiteStore.openWithJobs(path)
        let message = NewMessage(payload: [1], headers: ["a": "b"], uniqueKey: UniqueKey("k"))
        try await store.schedule(
            ScheduleName("s"), .put(Schedule(queue: .jobs, spec: "@daily", message: message), replacing: false))
        return (store, try ForeignProgram(path))
    }

    private func insert(_ name: String, _ columns: String, _ values: String, verb: String = "INSERT") -> String {
        "\(verb) INTO penstock_schedules (name, queue, spec, payload, \(columns)) "
            + "VALUES ('\(name)', 'jobs', '@daily', 'x', \(values))"
    }

    private func expectRefusal(
        _ sql: String, _ message: String, _ program: ForeignProgram,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let all = "SELECT * FROM penstock_schedules ORDER BY name"
        let before = try await program.rows(all)
        let error = await #expect(throws: DatabaseError.self, "\(sql)", sourceLocation: sourceLocation) {
            try await program.run(sql)
        }
        #expect(error?.message == message, "\(sql)", sourceLocation: sourceLocation)
        #expect(try await program.rows(all) == before, "\(sql)", sourceLocation: sourceLocation)
    }

    @Test func timesThatCannotBe() async throws {
        let (store, program) = try await open()
        for time in ["5", "'soon'", "'2031-02-29'", "'2031-02-01' || char(0)"] {
            for values in ["\(time), NULL", "NULL, \(time)"] {
                try await expectRefusal(insert("t", "starts_at, ends_at", values), Self.times, program)
            }
        }
        try await expectRefusal(
            insert("t", "starts_at, ends_at", "'2031-02-02', '2031-02-01'"), Self.times, program)
        try await program.run(insert("t", "starts_at, ends_at", "'2031-02-01', '2031-02-02T12:00:00Z'"))
        try await program.run(insert("u", "starts_at, ends_at", "'2031-02-01', '2031-02-01'"))
        let schedules = try await store.schedules(nil).map(\.schedule).suffix(2)
        let start = Timestamp(microseconds: 1_927_670_400_000_000)
        let end = Timestamp(microseconds: 1_927_800_000_000_000)
        #expect(schedules.map(\.starts) == [start, start])
        #expect(schedules.map(\.ends) == [end, start])
        try await store.close()
    }

    @Test(arguments: [
        "name = 't'", "starts_at = '2030-01-01'", "ends_at = '2030-01-01'", "next_due = '2030-01-01'",
        "problem = 'x'", "fired_total = 7", "missed_total = 7",
    ])
    func whatStaysAsItIs(change: String) async throws {
        let (store, program) = try await open()
        try await expectRefusal("UPDATE penstock_schedules SET \(change)", Self.fixed, program)
        // What is written as it is changes nothing.
        try await program.run("UPDATE penstock_schedules SET name = name, fired_total = fired_total, problem = problem")
        try await store.close()
    }

    /// None of SQLite's ways round a conflict is a way round a rule.
    @Test(arguments: ["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE"])
    func aNameThatIsTaken(verb: String) async throws {
        let (store, program) = try await open()
        try await expectRefusal(
            insert("s", "priority", "7", verb: verb), "penstock: there is a schedule of that name already", program)
        try await store.close()
    }

    /// Of what its messages bring, when it is made and when it is changed.
    @Test(arguments: brought)
    func whatItsMessagesCannotBring(column: String, value: String, message: String) async throws {
        let (store, program) = try await open()
        try await expectRefusal(insert("t", column, value), message, program)
        try await expectRefusal("UPDATE penstock_schedules SET \(column) = \(value)", message, program)
        try await store.close()
    }
}
