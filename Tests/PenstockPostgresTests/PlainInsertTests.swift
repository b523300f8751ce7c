import Foundation
import PenstockConformance
import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Messages that are put in line by SQL alone, as by `psql` or in an application's transaction.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct PlainInsertTests {
    private let url: String
    private let schema: String
    private let server: ServerConnection
    private let store: PostgresStore
    private let jobs: QueueName

    init() async throws {
        let shared = try await SharedSchema()
        (url, schema, server, store, jobs) = (shared.url, shared.schema, shared.server, shared.store, shared.jobs)
    }

    private func insert(_ payload: String, into queue: String = "jobs") throws {
        try server.run("INSERT INTO \(schema).penstock_messages (queue, payload) VALUES ('\(queue)', '\(payload)')")
    }

    @Test func anInsertIsAnEnqueue() async throws {
        try insert("by hand")
        let receipt = try await store.enqueue(
            [NewMessage(payload: Array("second".utf8))], to: jobs, durability: .powerLoss)
        #expect(receipt[0].sequence == SequenceNumber(2))
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 10, lease: .seconds(30)))
        #expect(claim.messages.map { String(decoding: $0.payload, as: UTF8.self) } == ["by hand", "second"])
        let status = try await store.status(of: jobs)
        #expect(status.queues[0].totals.enqueued == 2)
        try await store.close()
    }

    /// Both are there, or neither.
    @Test func itIsPartOfTheTransaction() async throws {
        try server.run("BEGIN")
        try insert("never")
        try server.run("ROLLBACK")
        try insert("ever")
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 10, lease: .seconds(30)))
        #expect(claim.messages.map { String(decoding: $0.payload, as: UTF8.self) } == ["ever"])
        try await store.close()
    }

    @Test func itWakesWhoWaits() async throws {
        let changes = store.changes
        try await eventually { store.lookInterval == .seconds(60) }
        let token = changes.token(for: jobs)
        async let woken: Void = changes.waitForWork(in: QueueName("jobs"), after: token)
        try await changes.waitForWaiters()
        try insert("wake")
        try await woken
        try await store.close()
    }

    @Test func whatCannotBeIsRefusedWithASentence() async throws {
        let error = #expect(throws: ServerError.self) { try insert("a", into: "nowhere") }
        #expect(error?.message == "penstock: there is no queue of that name")
        let isEmpty = try await store.messages(MessageQuery(limit: 1)).records.isEmpty
        #expect(isEmpty)
        // The connection goes on.
        try insert("after")
        try await store.close()
    }

    @Test(arguments: ["2031-02-29", "2030-02-30T12:00:00Z", "2030-04-31", "2030-13-01"])
    func aDateThatIsInNoCalendarIsRefused(date: String) async throws {
        for column in ["due_at", "expires_at"] {
            let error = #expect(throws: ServerError.self) {
                try server.run(
                    "INSERT INTO \(schema).penstock_messages (queue, payload, \(column)) VALUES ('jobs', 'x', '\(date)')"
                )
            }
            #expect(error?.message == "penstock: \(column) must be ISO 8601 text or integer microseconds")
        }
        try server.run(
            "INSERT INTO \(schema).penstock_messages (queue, payload, due_at) VALUES ('jobs', 'x', '2028-02-29')")
        try await store.close()
    }

    @Test(arguments: ["-1", "1969-12-31"]) func aTimeToExpireAtBefore1970IsRefused(time: String) async throws {
        let error = #expect(throws: ServerError.self) {
            try server.run(
                "INSERT INTO \(schema).penstock_messages (queue, payload, expires_at) VALUES ('jobs', 'x', '\(time)')")
        }
        #expect(error?.message == "penstock: expires_at cannot be before 1970")
        try await store.close()
    }

    /// A text is what it says, also where PostgreSQL could read it as bytes.
    @Test func theFunctionTakesTextsAndBytes() async throws {
        let calls = [
            (##"'{"re":"\\d","path":"C:\\temp"}'"##, ##"{"re":"\\d","path":"C:\\temp"}"##), (#"'a\nb'"#, #"a\nb"#),
            ("json_build_object('a', 1)::text", #"{"a" : 1}"#), (#"'\x6869'::bytea"#, "hi"),
            ("convert_to('bytes', 'UTF8')", "bytes"),
        ]
        for (written, _) in calls { try server.run("SELECT \(schema).penstock_enqueue('jobs', \(written))") }
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 9, lease: .seconds(30)))
        #expect(claim.messages.map { String(decoding: $0.payload, as: UTF8.self) } == calls.map(\.1))
        let error = #expect(throws: ServerError.self) {
            try server.run(#"SELECT \#(schema).penstock_enqueue('jobs', '\x6869')"#)
        }
        #expect(error?.message.hasSuffix("takes bytes as well, as BYTEA") == true)
        try await store.close()
    }

    private static let day = ComingDay(month: 5, day: 6)

    /// A moment is given as the server writes it, in whatever zone its session is.
    @Test(arguments: ["UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Apia"])
    func momentsMayBeTheServersOwn(zone: String) async throws {
        try server.run("SET TimeZone = '\(zone)'")
        let moment = "('\(Self.day.text) 07:08:09.123456+00'::timestamptz)"
        try server.run(
            "INSERT INTO \(schema).penstock_messages (queue, payload, due_at) VALUES ('jobs', 'a', \(moment))")
        try server.run("SELECT \(schema).penstock_enqueue('jobs', 'b', due_at => \(moment)::text)")
        try server.run(
            "INSERT INTO \(schema).penstock_messages (queue, payload, expires_at) VALUES ('jobs', 'c', \(moment)::text)"
        )
        let records = try await store.messages(MessageQuery(queue: jobs, limit: 9)).records
        let wanted = Timestamp(microseconds: Self.day.start + 25_689_123_456)
        #expect(records.map { $0.due ?? $0.expiresAt } == [wanted, wanted, wanted])
        try await store.close()
    }

    /// A backslash is an escape to such a session, as it was to all before PostgreSQL 9.1.
    @Test func aSessionThatEscapesWritesTheSame() async throws {
        try server.run("SET standard_conforming_strings = off; SET escape_string_warning = off")
        try server.run(
            """
            INSERT INTO \(schema).penstock_messages (queue, payload, due_at, headers)
            VALUES ('jobs', 'a\\\\b', '\(Self.day.text) 07:08:09.5Z', '{"k":"v"}')
            """)
        try server.run("SELECT \(schema).penstock_enqueue('jobs', decode('00ff', 'hex'))")
        try server.run(
            """
            INSERT INTO \(schema).penstock_schedules (name, queue, spec, payload, starts_at)
            VALUES ('s', 'jobs', '@daily', 'x', '\(Self.day.text)T07:08:09Z')
            """)
        let records = try await store.messages(MessageQuery(queue: jobs, limit: 9, withPayload: true)).records
        #expect(records.map(\.payload) == [Array("a\\b".utf8), [0, 0xFF]])
        #expect(records[0].due == Timestamp(microseconds: Self.day.start + 25_689_500_000))
        #expect(try await store.schedules(nil).count == 1)
        try await store.close()
    }

    @Test func aStoreThatIsLeftTakesNoSchedule() async throws {
        try server.run(
            "INSERT INTO \(schema).penstock_schedules (name, queue, spec, payload) VALUES ('s', 'jobs', '@daily', 'x')")
        func refused(_ phase: String) throws -> [Bool] {
            try server.run("UPDATE \(schema).penstock_state SET moving = '\(phase)'")
            return [
                "INSERT INTO \(schema).penstock_schedules (name, queue, spec, payload) VALUES ('\(phase)', 'jobs', '@daily', 'x')",
                "UPDATE \(schema).penstock_schedules SET payload = 'y'",
                "DELETE FROM \(schema).penstock_schedules WHERE name = '\(phase == "draining" ? phase : "s")'",
            ].map { statement in
                do {
                    try server.run(statement)
                    return false
                } catch {
                    return "\(error)".contains("the queues of this store have moved to another one")
                }
            }
        }
        #expect(try refused("draining") == [false, false, false])
        #expect(try refused("copying") == [true, true, true])
        #expect(try refused("moved") == [true, true, true])
        try server.run("UPDATE \(schema).penstock_state SET moving = NULL")
        #expect(try await store.schedules(nil).map(\.name.text) == ["s"])
        try await store.close()
    }

    @Test func whatIsDueIsNotLostWhenAPayloadChanges() async throws {
        try server.run(
            "INSERT INTO \(schema).penstock_schedules (name, queue, spec, payload) VALUES ('s', 'jobs', '* * * * *', 'x')"
        )
        #expect(try await store.fire() != nil)
        try server.run("UPDATE \(schema).penstock_schedule SET next_due = \(schema).penstock_now() - 1")
        try server.run("UPDATE \(schema).penstock_schedules SET payload = 'other'")
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 5, lease: .seconds(30)))
        #expect(claim.messages.map { String(decoding: $0.payload, as: UTF8.self) } == ["other"])
        try await store.close()
    }

    /// A view's row is from before the lock was waited for.
    @Test func twoChangesOfAScheduleBothStay() async throws {
        try server.run(
            "INSERT INTO \(schema).penstock_schedules (name, queue, spec, payload) VALUES ('s', 'jobs', '* * * * *', 'x')"
        )
        try server.run("BEGIN; UPDATE \(schema).penstock_schedules SET paused = 1")
        try await changeMeanwhile("priority = 5, missed = 'all'", andCommit: "payload = 'y'")
        let row = try server.run("SELECT paused, priority, missed, payload FROM \(schema).penstock_schedules")
        #expect((0..<4).map { String(decoding: row.bytes(0, $0), as: UTF8.self) } == ["1", "5", "all", "y"])
        try await store.close()
    }

    /// Each change is sound by itself, and both together are not.
    @Test func whatComesOfTwoChangesIsLookedAt() async throws {
        try server.run(
            """
            INSERT INTO \(schema).penstock_schedules (name, queue, spec, payload, unique_key)
            VALUES ('s', 'jobs', '* * * * *', 'x', 'k')
            """)
        try server.run("BEGIN; UPDATE \(schema).penstock_schedules SET unique_key = NULL")
        try await changeMeanwhile("key_scope = 60", andCommit: "priority = 1")
        let row = try server.run(
            "SELECT FROM \(schema).penstock_schedules WHERE unique_key IS NULL AND key_scope IS NULL AND priority = 1")
        #expect(row.rowCount == 1)
        try await store.close()
    }

    /// They become text by the session's setting, before the view has them.
    @Test func bytesThatBecameTextAreRefusedHoweverTheyWereWritten() async throws {
        try server.run("SET bytea_output = escape")
        let into = [
            "\(schema).penstock_messages (queue, payload) VALUES ('jobs', ",
            "\(schema).penstock_schedules (name, queue, spec, payload) VALUES ('s', 'jobs', '@daily', ",
        ]
        for bytes in [#"'\x61005c62ff'"#, #"'\x636166c3a9'"#, #"'\x5c'"#] {
            for place in into {
                let error = #expect(throws: ServerError.self) {
                    try server.run("INSERT INTO \(place)\(bytes)::bytea)")
                }
                #expect(error?.message.contains("payload must be text here") == true)
            }
        }
        try server.run(#"INSERT INTO \#(into[0])'hi'::bytea), ('jobs', 'C:\new'), ('jobs', 'naïve\\')"#)
        try server.run(#"SET bytea_output = hex; INSERT INTO \#(into[0])'caf\303\251')"#)
        let records = try await store.messages(MessageQuery(queue: jobs, limit: 9, withPayload: true)).records
        let texts = records.map { $0.payload.map { String(decoding: $0, as: UTF8.self) } }
        #expect(texts == ["hi", #"C:\new"#, #"naïve\\"#, #"caf\303\251"#])
        try await store.close()
    }

    /// Has another session change the schedule while this one's transaction holds the lock, which then changes it and commits.
    private func changeMeanwhile(_ other: String, andCommit own: String) async throws {
        let changed = Tally()
        Thread.detachNewThread { [url, schema] in
            guard let session = try? ServerConnection(try ServerAddress(url)) else { return }
            _ = try? session.run("UPDATE \(schema).penstock_schedules SET \(other)")
            changed.add()
        }
        let waiting = """
            SELECT FROM pg_locks AS held JOIN pg_locks AS wanted USING (locktype, database, classid, objid, objsubid)
            WHERE held.pid = pg_backend_pid() AND held.granted AND NOT wanted.granted AND locktype = 'advisory'
            """
        try await eventually { try server.run(waiting).rowCount > 0 }
        try server.run("UPDATE \(schema).penstock_schedules SET \(own); COMMIT")
        try await changed.wait(for: 1)
    }

    @Test func whatWasWorkedIsShown() async throws {
        try insert("a")
        _ = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30)))
        let shown = try server.run("SELECT queue, state, payload FROM \(schema).penstock_messages")
        let row = (0..<3).map { String(decoding: shown.bytes(0, $0), as: UTF8.self) }
        #expect(row[0] == "jobs")
        #expect(row[1] == "leased")
        try await store.close()
    }
}
