import PenstockCore
import PenstockProcesses
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What a look at the server finds that nobody has rung for, as the process that owed the ring has died behind its COMMIT.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct ServerLookTests {
    private let schema: ClosedSchema
    private let server: ServerConnection
    private let look: ServerLook

    init() async throws {
        schema = try await ClosedSchema()
        server = schema.server
        let clock = ServerClock()
        try clock.read(server)
        look = ServerLook(PostgresConnection(server), SessionLocks(), clock)
        // What was there before is none of its news.
        _ = try look.look(asksForOthers: false)
    }

    /// Has the store changed, and then stand still.
    private func news(of change: String) throws -> ServerLook.Seen {
        try server.run("\(change); UPDATE penstock_state SET updates = updates + 1")
        let seen = try look.look(asksForOthers: false)
        // The first one leaves it to the process that has made the change, which may be about to ring.
        return seen.isNews ? seen : try look.look(asksForOthers: false)
    }

    /// Messages that are ready or due later, a schedule to be reckoned, groups to be gone through or to be opened, and what expires.
    @Test(arguments: [
        "INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'a')",
        "INSERT INTO penstock_messages (queue, payload, due_at) VALUES ('jobs', 'a', (penstock_now() + 60000000)::TEXT)",
        "INSERT INTO penstock_schedules (name, queue, spec, payload) VALUES ('s', 'jobs', '@daily', 'a')",
        "INSERT INTO penstock_regroup (queue_id, group_key) SELECT id, 'g' FROM penstock_queue",
        "INSERT INTO penstock_group_rate (queue_id, group_key, tat, opens_at) SELECT id, 'g', 1, 1 FROM penstock_queue",
        "INSERT INTO penstock_expiry (sequence, queue_id, expires_at) SELECT 1, id, 1 FROM penstock_queue",
    ])
    func whereAnythingWaitsIsRungFor(_ change: String) throws {
        let seen = try news(of: change)
        #expect(seen.isNews)
        #expect(seen.rings.map { $0.bucket } == [RingBucket.of(schema.jobs)])
        #expect(seen.rings.map { $0.ring.tag } == [RingBucket.tag(of: schema.jobs)])
        let next = try look.look(asksForOthers: false)
        #expect(!next.isNews && next.rings.isEmpty)
    }

    @Test(arguments: [
        "INSERT INTO penstock_schedules (name, queue, spec, payload, paused) VALUES ('s', 'jobs', '@daily', 'a', 1)",
        "INSERT INTO penstock_group_rate (queue_id, group_key, tat) SELECT id, 'g', 1 FROM penstock_queue",
    ])
    func whereNothingWaitsNobodyIsWoken(_ change: String) throws {
        let seen = try news(of: change)
        #expect(seen.isNews && seen.rings.isEmpty)
    }

    /// Under load each look finds that the store has changed, and a ring that is lost would stay so.
    @Test func aStoreThatNeverStandsStillIsRungForAllTheSame() async throws {
        try server.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'a')")
        var rung: [Int] = []
        try await eventually {
            try server.run("UPDATE penstock_state SET updates = updates + 1")
            rung = try look.look(asksForOthers: false).rings.map { $0.bucket }
            return !rung.isEmpty
        }
        #expect(rung == [RingBucket.of(schema.jobs)])
    }

    /// Others go on with what a process has left that died between two steps, and carry out what was said in SQL.
    @Test(arguments: [
        ("INSERT INTO penstock_cascade (workflow_id, sequence, after) VALUES (0, 1, 0)", false),
        ("INSERT INTO penstock_verdict (sequence, token, verdict, said_at) VALUES (1, 1, 'done', 0)", true),
    ])
    func whatIsToBeCarriedOnIsFound(_ change: String, isVerdict: Bool) throws {
        let before = try news(of: "SELECT 1")
        #expect(!before.hasLostWork && before.isIdle)
        let seen = try news(of: change)
        #expect(seen.hasLostWork && !seen.isIdle)
        #expect(seen.hasSaidVerdicts == isVerdict)
    }

    /// Looks rest where all that write are of this machine.
    @Test func anotherMachineThatListensIsSeen() throws {
        let alone = try look.look(asksForOthers: true)
        #expect(alone.isAlone)
        let far = try Sessions.connect(to: schema.address, busyMax: .seconds(60))
        try far.run("SELECT pg_advisory_lock_shared(\(Sessions.listenerLockClass), 0)")
        let beside = try look.look(asksForOthers: true)
        #expect(!beside.isAlone)
        withExtendedLifetime(far) {}
    }
}
