import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Schedules that are made, changed and removed by plain SQL.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct ScheduleSQLTests {
    private let time = ManualTime()
    private let server: ServerConnection
    private let store: PostgresStore
    private let jobs: QueueName
    private let mails: QueueName

    init() async throws {
        let schema = try await ClosedSchema()
        (server, jobs) = (schema.server, schema.jobs)
        mails = try QueueName("mails")
        var options = PostgresStore.Options(time: time)
        options.hearsRingsAlone = true
        store = try await PostgresStore.open(url: schema.url, options: options)
        try await store.configure(mails, .create(QueuePolicy(), ifAbsent: true))
    }

    private func insert(_ columns: String = "priority", _ values: String = "0", name: String = "s") -> String {
        "INSERT INTO penstock_schedules (name, queue, spec, payload, \(columns)) "
            + "VALUES ('\(name)', 'jobs', '* * * * *', 'x', \(values))"
    }

    private func claim() async throws -> [String] {
        let messages = try await store.claim(ClaimRequest(queue: jobs, limit: 9, lease: .seconds(30))).messages
        return messages.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    /// How many schedules are still to be reckoned.
    private func unreckonedCount() throws -> Int32 {
        try server.run("SELECT FROM penstock_schedule WHERE next_due IS NULL").rowCount
    }

    /// Which queues have schedules a process keeps in memory.
    @Test func aProcessThatKnewOfNoneFiresTheFirst() async throws {
        _ = try await store.enqueue([NewMessage(payload: [])], to: jobs, durability: .processCrash)
        #expect(try await claim() == [""])
        #expect(try await claim() == [])
        try server.run(insert())
        let due = try #require(try await store.fire())
        time.advance(to: due)
        #expect(try await claim() == ["x"])
        try await store.close()
    }

    /// It has to look for the next firing, of both queues where a schedule goes from one to the other.
    @Test func whoWaitsHearsOfEachChange() async throws {
        let changes = store.changes
        try await eventually { store.lookInterval == .seconds(60) }
        for (change, queues) in [
            (insert(), [jobs]), ("UPDATE penstock_schedules SET queue = 'mails'", [jobs, mails]),
            ("DELETE FROM penstock_schedules", [mails]),
        ] {
            let tokens = queues.map { changes.token(for: $0) }
            try server.run(change)
            for (queue, token) in zip(queues, tokens) {
                try await eventually { changes.isRungForWork(in: queue, after: token) }
            }
        }
        try await store.close()
    }

    @Test(arguments: ["spec = '@weekly'", "zone = 'Europe/Paris'", "paused = 1", "queue = 'mails'"])
    func whatSaysWhenItFiresHasItReckonedAnew(_ change: String) async throws {
        try server.run(insert())
        #expect(try await store.fire() != nil)
        #expect(try unreckonedCount() == 0)
        try server.run("UPDATE penstock_schedules SET priority = 1")
        #expect(try unreckonedCount() == 0)
        try server.run("UPDATE penstock_schedules SET \(change)")
        #expect(try unreckonedCount() == 1)
        try await store.close()
    }

    @Test func aScheduleThatHadGivenUpBeginsAgain() async throws {
        try server.run(insert())
        #expect(try await store.fire() != nil)
        try server.run("UPDATE penstock_schedule SET next_due = \(Int64.max), problem = 'It was refused.'")
        try server.run("UPDATE penstock_schedules SET payload = 'smaller'")
        #expect(try await store.fire() != nil)
        #expect(try server.run("SELECT FROM penstock_schedules WHERE problem IS NULL").rowCount == 1)
        try await store.close()
    }

    /// They are no text, and a view shows none.
    @Test func bytesStayWhatTheyWere() async throws {
        let schedule = Schedule(queue: jobs, spec: "@hourly", message: NewMessage(payload: [0xFF, 0]))
        _ = try await store.schedule(ScheduleName("s"), .put(schedule, replacing: false))
        try server.run("UPDATE penstock_schedules SET priority = 1")
        let message = try #require(try await store.schedules(nil).first).schedule.message
        #expect(message.payload == [0xFF, 0] && message.priority == 1)
        try await store.close()
    }

    private static let strings = "headers must be a JSON object of strings, as text"
    private static let key = "unique_key must be text of 1 to 500 bytes, none of them zero"
    private static let times = "starts_at and ends_at must be ISO 8601 text, in this order"
    private static let fixed =
        "name, starts_at, ends_at, next_due, problem and totals cannot be changed; make another schedule"
    private static let name = "name must be text of 1 to 200 bytes, without control characters"

    private func refusal(_ sql: String) throws -> String? {
        do {
            try server.run(sql)
            return nil
        } catch let error as ServerError {
            return error.message
        }
    }

    /// A column of what its messages bring, a value, and how it is refused.
    private static let brought: [(column: String, value: String, message: String)] = [
        ("headers", "'[1]'", strings), ("headers", #"'{"a": 1}'"#, strings),
        (
            "headers", #"'{"a b": "c"}'"#,
            "headers are 64 and 16384 bytes at most, each named by 1 to 100 letters, digits, -, _ or ."
        ),
        ("headers", #"'{"a": "\u0000"}'"#, "headers cannot hold zero bytes"), ("unique_key", "''", key),
        ("unique_key", "repeat('k', 501)", key), ("group_key", "'g'", "the queue has no groups"),
        ("expires_after", "0", "expires_after must be NULL or 0.000001 to 315360000 seconds"),
        ("expires_after", "315360001", "expires_after must be NULL or 0.000001 to 315360000 seconds"),
    ]

    /// As it is made, and as it is changed.
    @Test(arguments: brought)
    func whatItsMessagesCannotBringIsRefused(_ column: String, _ value: String, _ message: String) async throws {
        try server.run(insert())
        #expect(try refusal(insert(column, value, name: "t")) == "penstock: " + message)
        #expect(try refusal("UPDATE penstock_schedules SET \(column) = \(value)") == "penstock: " + message)
        try await store.close()
    }

    @Test func whatCannotBeIsRefused() async throws {
        try server.run(insert())
        for values in ["'5', NULL", "NULL, '5'", "'2031-02-29', NULL", "'2031-02-02', '2031-02-01'"] {
            let message = try refusal(insert("starts_at, ends_at", values, name: "t"))
            #expect(message == "penstock: " + Self.times, "\(values)")
        }
        for name in ["", "t ", "t\u{202e}", "t\n"] {
            #expect(try refusal(insert(name: name)) == "penstock: " + Self.name, "'\(name)'")
        }
        #expect(try refusal(insert()) == "penstock: there is a schedule of that name already")
        let scope = "key_scope must be NULL, 0 or 0.001 to 31622400 seconds, with a unique_key"
        #expect(try refusal(insert("key_scope", "60", name: "t")) == "penstock: " + scope)
        for change in [
            "name = 't'", "starts_at = '2030-01-01'", "ends_at = '2030-01-01'", "next_due = '2030-01-01'",
            "problem = 'x'", "fired_total = 7", "missed_total = 7",
        ] {
            #expect(try refusal("UPDATE penstock_schedules SET \(change)") == "penstock: " + Self.fixed, "\(change)")
        }
        let nowhere = try refusal("UPDATE penstock_schedules SET queue = 'nowhere'")
        #expect(nowhere == "penstock: there is no queue of that name")
        #expect(try server.run("SELECT FROM penstock_schedule").rowCount == 1)
        try await store.close()
    }
}
