import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Schedules as rows: made, changed and removed by plain SQL.
@Suite struct ScheduleSQLTests {
    private let jobs = QueueName(stored: "jobs")

    private let harness = SQLiteHarness()

    private func open() async throws -> (store: SQLiteStore, pool: DatabasePool) {
        let store = try await harness.openStore()
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: false))
        return (store, try DatabasePool(path: harness.path))
    }

    @Test("A row that is inserted is reckoned by the next process, and fires")
    func inserted() async throws {
        let (store, pool) = try await open()
        try await pool.write {
            try $0.execute(
                sql:
                    "INSERT INTO penstock_schedules (name, queue, spec, payload) VALUES ('s', 'jobs', '* * * * *', 'hello')"
            )
        }
        let unread = try #require(try await store.schedules(nil).first)
        #expect(unread.nextDue == nil && !unread.isReckoned)
        let due = try #require(try await store.fire())
        let reckoned = try #require(try await store.schedules(nil).first)
        #expect(reckoned.nextDue == due && reckoned.isReckoned)
        harness.time.advance(to: due)
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 5, lease: .seconds(30)))
        #expect(claim.messages.map(\.payload) == [Array("hello".utf8)])
        let row = try pool.read {
            try Row.fetchOne($0, sql: "SELECT schedule, outcome, sequence FROM penstock_firings")
        }
        #expect(row?["schedule"] == "s")
        #expect(row?["outcome"] == "enqueued")
        #expect(row?["sequence"] == 1)
        try await store.close()
    }

    @Test("A page of schedules ends where their payloads are large")
    func largePage() async throws {
        let (store, _) = try await open()
        let message = NewMessage(payload: [UInt8](repeating: 1, count: Limits.logPageBytesMax + 1))
        for name in ["a", "b", "c"] {
            let schedule = Schedule(queue: jobs, spec: "@yearly", message: message)
            try await store.schedule(ScheduleName(name), .put(schedule, replacing: false))
        }
        #expect(try await store.schedules(page: ScheduleQuery()).map(\.name.text) == ["a"])
        let (records, isMore) = try await store.schedules(after: ScheduleName("a"), limit: 9)
        #expect(records.map(\.name.text) == ["b"] && isMore)
        let last = try await store.schedules(after: ScheduleName("b"), limit: 9)
        #expect(last.records.map(\.name.text) == ["c"] && !last.isMore)
        try await store.close()
    }

    @Test("Totals that were written by hand stop no firing")
    func wrongTotals() async throws {
        let (store, pool) = try await open()
        try await store.schedule(
            ScheduleName("s"),
            .put(Schedule(queue: jobs, spec: "* * * * *", message: NewMessage(payload: [1])), replacing: false))
        try await pool.write {
            try $0.execute(
                sql: "UPDATE penstock_schedule SET fired_total = ?1, missed_total = ?1", arguments: [Int64.max])
        }
        // Far too late: one is made good, and the others are counted as missed.
        harness.time.advance(by: .seconds(3600))
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 5, lease: .seconds(30)))
        #expect(!claim.messages.isEmpty)
        #expect(try await store.schedules(nil).first?.firedCount == .max)
        try await store.close()
    }

    @Test("Bounds that were written by hand hold no longer than a schedule may say, and the doctor names the schedule")
    func wrongBounds() async throws {
        let (store, pool) = try await open()
        let message = NewMessage(payload: [1], expiry: .after(.seconds(60)))
        let record = try await store.schedule(
            ScheduleName("s"), .put(Schedule(queue: jobs, spec: "@daily", message: message), replacing: false))
        let due = try #require(record?.nextDue)
        #expect(try await SQLiteStore.inspectHealth(path: harness.path, time: harness.time).isHealthy)
        try await pool.write {
            try $0.execute(sql: "UPDATE penstock_schedule SET expires_after = ?", arguments: [Int64.max])
        }
        let found = try await SQLiteStore.inspectHealth(path: harness.path, time: harness.time)
        #expect(found.findings.map(\.kind) == [.wrongSchedule] && !found.isHealthy)
        #expect(found.findings.first?.message.contains("'s'") == true)
        // No check of the table's keeps this one out.
        try await ForeignProgram(harness.path).run(
            "PRAGMA ignore_check_constraints = 1; UPDATE penstock_schedule SET jitter = \(Int64.max)")
        let schedule = try #require(try await store.schedules(nil).first).schedule
        #expect(schedule.jitter == Limits.scheduleJitterMax && schedule.message.expiry == .after(Limits.delayMax))
        harness.time.advance(to: due)
        _ = try await store.fire()
        let putOff = try await pool.read { try Int64.fetchOne($0, sql: "SELECT due_at FROM penstock_scheduled") }
        let dueAt = Timestamp(microseconds: try #require(putOff))
        #expect(dueAt > due && dueAt <= due + Limits.scheduleJitterMax)
        let expiresAt = try await pool.read { try Int64.fetchOne($0, sql: "SELECT expires_at FROM penstock_log") }
        #expect(expiresAt == (dueAt + Limits.delayMax).microseconds)
        try await store.close()
    }

    @Test(
        "What cannot be is said in the row",
        arguments: [
            ("0 0 30 2 *", "UTC", "would never fire"), ("x", "UTC", "has 1 field"),
            ("@daily", "Europe/Atlantis", "no time zone"),
        ])
    func problems(_ spec: String, _ zone: String, _ words: String) async throws {
        let (store, pool) = try await open()
        try await pool.write {
            try $0.execute(
                sql:
                    "INSERT INTO penstock_schedules (name, queue, spec, zone, payload) VALUES ('s', 'jobs', ?, ?, 'x')",
                arguments: [spec, zone])
        }
        #expect(try await store.fire() == nil)
        #expect(try await store.schedules(nil).first?.problem?.contains(words) == true)
        // Mended by hand, it fires.
        try await pool.write { try $0.execute(sql: "UPDATE penstock_schedules SET spec = '@hourly', zone = 'UTC'") }
        #expect(try await store.fire() != nil)
        #expect(try await store.schedules(nil).first?.problem == nil)
        try await store.close()
    }

    @Test(
        "Refused by the trigger",
        arguments: [
            ("('s', 'none', '@daily', 'x', NULL)", "there is no queue"),
            ("('', 'jobs', '@daily', 'x', NULL)", "name must be"),
            ("('s', 'jobs', '@daily', NULL, NULL)", "payload must be given"),
            ("('s', 'jobs', 5, 'x', NULL)", "spec must be text"),
            ("('s', 'jobs', '@daily', 'x', '[1]')", "headers must be"),
            (#"('s', 'jobs', '@daily', 'x', '{"a b":"c"}')"#, "each named by"),
            (#"('s', 'jobs', '@daily', 'x', '{"a":"1","A":"2"}')"#, "two headers"),
            ("('x' || char(127), 'jobs', '@daily', 'x', NULL)", "without control characters"),
            ("('x' || char(8238), 'jobs', '@daily', 'x', NULL)", "without control characters"),
        ])
    func refused(_ values: String, _ words: String) async throws {
        let (store, pool) = try await open()
        let error = await #expect(throws: DatabaseError.self) {
            try await pool.write {
                try $0.execute(
                    sql: "INSERT INTO penstock_schedules (name, queue, spec, payload, headers) VALUES \(values)")
            }
        }
        #expect(error?.message?.contains(words) == true)
        try await store.close()
    }

    @Test("What says when its messages may start is read, and checked, by SQL")
    func starts() async throws {
        let (store, pool) = try await open()
        try await store.configure(jobs, .set(QueuePolicy(groups: .fifo()), replacing: nil))
        let columns = "(name, queue, spec, payload, unique_key, group_key, key_scope, expires_after)"
        try await pool.write {
            try $0.execute(
                sql: "INSERT INTO penstock_schedules \(columns) "
                    + "VALUES ('s', 'jobs', '* * * * *', 'x', 'k', 'g', 0.5, 90)")
        }
        var message = try #require(try await store.schedules(nil).first).schedule.message
        #expect(message.group == "g" && message.expiry == .after(.seconds(90)))
        #expect(message.uniqueKey?.scope == .period(.milliseconds(500)))
        let row = try pool.read { try Row.fetchOne($0, sql: "SELECT * FROM penstock_schedules") }
        #expect(row?["group_key"] == "g")
        #expect(row?["key_scope"] == 0.5)
        #expect(row?["expires_after"] == 90.0)
        try await pool.write {
            try $0.execute(sql: "UPDATE penstock_schedules SET group_key = 'h', key_scope = 0, expires_after = NULL")
        }
        message = try #require(try await store.schedules(nil).first).schedule.message
        #expect(message.group == "h" && message.expiry == nil && message.uniqueKey?.scope == .whileWaiting)
        for (change, words) in [
            ("group_key = ''", "group_key must be text"), ("unique_key = NULL", "with a unique_key"),
            ("key_scope = 0.0001", "key_scope must be"), ("key_scope = 5e9", "key_scope must be"),
            ("expires_after = 0", "expires_after must be"), ("expires_after = 'soon'", "expires_after must be"),
        ] {
            let error = await #expect(throws: DatabaseError.self, "\(change)") {
                try await pool.write { try $0.execute(sql: "UPDATE penstock_schedules SET \(change)") }
            }
            #expect(error?.message?.contains(words) == true, "\(change)")
        }
        try await store.configure(QueueName("plain"), .create(QueuePolicy(), ifAbsent: false))
        let error = await #expect(throws: DatabaseError.self) {
            try await pool.write { try $0.execute(sql: "UPDATE penstock_schedules SET queue = 'plain'") }
        }
        #expect(error?.message == "penstock: the queue has no groups")
        try await store.close()
    }

    @Test("Paused, changed and removed by SQL")
    func changed() async throws {
        let (store, pool) = try await open()
        let name = try ScheduleName("s")
        try await store.schedule(
            name,
            .put(Schedule(queue: jobs, spec: "@hourly", message: NewMessage(payload: [0xFF, 0])), replacing: false))
        try await pool.write { try $0.execute(sql: "UPDATE penstock_schedules SET paused = 1") }
        #expect(try await store.fire() == nil)
        try await pool.write { try $0.execute(sql: "UPDATE penstock_schedules SET paused = 0, spec = '* * * * *'") }
        let due = try #require(try await store.fire())
        #expect(due - harness.time.now <= .seconds(60))
        #expect(
            try await store.schedules(nil).first?.schedule.message.payload == [0xFF, 0], "Bytes stay what they were.")
        await #expect(throws: DatabaseError.self) {
            try await pool.write { try $0.execute(sql: "UPDATE penstock_schedules SET next_due = 'now'") }
        }
        try await pool.write { try $0.execute(sql: "DELETE FROM penstock_schedules WHERE name = 's'") }
        #expect(try await store.schedules(nil).isEmpty)
        harness.time.advance(by: .seconds(3600))
        #expect(try await store.claim(ClaimRequest(queue: jobs, limit: 5, lease: .seconds(30))).messages.isEmpty)
        try await store.close()
    }

    @Test("What is due is not lost when SQL changes what it says")
    func changedWhenDue() async throws {
        let (store, pool) = try await open()
        let schedule = Schedule(queue: jobs, spec: "* * * * *", message: NewMessage(payload: [1]))
        let record = try await store.schedule(ScheduleName("s"), .put(schedule, replacing: false))
        harness.time.advance(to: try #require(record?.nextDue))
        try await pool.write { try $0.execute(sql: "UPDATE penstock_schedules SET payload = 'other', priority = 1") }
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 5, lease: .seconds(30)))
        #expect(claim.messages.map(\.payload) == [Array("other".utf8)])
        // One that had given up begins again.
        try await pool.write {
            try $0.execute(
                sql: "UPDATE penstock_schedule SET next_due = ?, problem = 'It was refused.'", arguments: [Int64.max])
            try $0.execute(sql: "UPDATE penstock_schedules SET payload = 'smaller'")
        }
        #expect(try await store.fire() != nil)
        try await store.close()
    }

    @Test("Other data of a zone has the next firing reckoned anew")
    func otherZoneData() async throws {
        let (store, pool) = try await open()
        var schedule = Schedule(queue: jobs, spec: "0 12 * * *", message: NewMessage(payload: []))
        schedule.zone = "Europe/Paris"
        let due = try await store.schedule(try ScheduleName("s"), .put(schedule, replacing: false))?.nextDue
        // As if the data had said another offset when it was reckoned: too early, and too late.
        for shift in [-3600, 3600] as [Int64] {
            try await pool.write {
                try $0.execute(
                    sql: "UPDATE penstock_schedule SET zone_data = 1, next_due = next_due + ?",
                    arguments: [shift * 1_000_000])
            }
            harness.time.advance(by: .seconds(1))
            let other = try await harness.openStore()
            #expect(try await other.fire() == due, "A process that begins looks whether data has changed.")
            try await other.close()
        }
        // One that is due by old data is looked at again before it fires.
        try await pool.write {
            try $0.execute(
                sql: "UPDATE penstock_schedule SET zone_data = 1, next_due = ?",
                arguments: [harness.time.now.microseconds])
        }
        #expect(try await store.claim(ClaimRequest(queue: jobs, limit: 5, lease: .seconds(30))).messages.isEmpty)
        #expect(try await store.schedules(nil).first?.nextDue == due)
        try await store.close()
    }

    @Test("An insert by another program wakes those who wait")
    func wakes() async throws {
        let (store, pool) = try await open()
        let token = store.changes.token(for: jobs)
        async let woken: Void = store.changes.wait(for: jobs, after: token)
        try await pool.write {
            try $0.execute(
                sql:
                    "INSERT INTO penstock_schedules (name, queue, spec, payload) VALUES ('s', 'jobs', '* * * * *', 'x')"
            )
        }
        try await woken
        try await store.close()
    }

    @Test("A queue's schedules go with it")
    func goesWithItsQueue() async throws {
        let (store, pool) = try await open()
        try await store.schedule(
            try ScheduleName("s"),
            .put(Schedule(queue: jobs, spec: "@hourly", message: NewMessage(payload: [])), replacing: false))
        try await store.schedule(try ScheduleName("s"), .run)
        try await store.configure(jobs, .delete(force: true))
        for table in ["penstock_schedule", "penstock_firing"] {
            #expect(try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") } == 0)
        }
        try await store.close()
    }
}
