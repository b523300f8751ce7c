import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// A message that is inserted keeps to what its queue says: which comes first, how many wait, which keys are taken, and until when it
/// may start.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct PlainInsertRuleTests {
    private let server: ServerConnection
    private let store: PostgresStore
    private let mill: QueueName

    init() async throws {
        let shared = try await SharedSchema()
        (server, store) = (shared.server, shared.store)
        mill = try QueueName("mill")
        try server.run("SET search_path = \(shared.schema)")
    }

    private func make(_ policy: QueuePolicy = QueuePolicy()) async throws {
        try await store.configure(mill, .create(policy, ifAbsent: false))
    }

    /// - Parameters:
    ///   - columns: more columns than those of the queue and the payload.
    ///   - values: what they have, in SQL.
    private func insert(_ payload: String, _ columns: String = "", _ values: String = "") throws {
        let (more, given) = columns.isEmpty ? ("", "") : (", " + columns, ", " + values)
        try server.run("INSERT INTO penstock_messages (queue, payload\(more)) VALUES ('mill', '\(payload)'\(given))")
    }

    /// How an INSERT is refused; `nil`: it is not.
    private func refusal(_ payload: String, _ columns: String = "", _ values: String = "") throws -> String? {
        do {
            try insert(payload, columns, values)
            return nil
        } catch let error as ServerError {
            return error.message
        }
    }

    private func claim() async throws -> [ClaimedMessage] {
        try await store.claim(ClaimRequest(queue: mill, limit: 9, lease: .seconds(60))).messages
    }

    private func settle(_ messages: [ClaimedMessage]) async throws {
        _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
    }

    private func texts(_ messages: [ClaimedMessage]) -> [String] {
        messages.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    /// What claims bring, each of which is settled before the next one.
    private func worked() async throws -> [[String]] {
        var worked: [[String]] = []
        while true {
            let messages = try await claim()
            if messages.isEmpty { return worked }
            worked.append(texts(messages))
            try await settle(messages)
        }
    }

    @Test func aGroupInOrderHasOneMessageAtATime() async throws {
        try await make(QueuePolicy(groups: .fifo()))
        for text in ["a1", "a2", "b1", "a3"] { try insert(text, "group_key", "'\(text.prefix(1))'") }
        #expect(try await worked() == [["a1", "b1"], ["a2"], ["a3"]])
        try await store.close()
    }

    @Test func aGroupWithALimitHasSoMany() async throws {
        try await make(QueuePolicy(groups: .limit(2)))
        for text in ["a1", "a2", "a3", "b1"] { try insert(text, "group_key", "'\(text.prefix(1))'") }
        #expect(try await worked() == [["a1", "a2", "b1"], ["a3"]])
        try await store.close()
    }

    @Test func aGroupThatIsPausedWaits() async throws {
        try await make(QueuePolicy(groups: .fifo()))
        try await store.configure(mill, .pauseGroup("a"))
        try insert("a1", "group_key", "'a'")
        #expect(try await worked() == [])
        try await store.configure(mill, .resumeGroup("a"))
        #expect(try await worked() == [["a1"]])
        try await store.close()
    }

    @Test func groupsThatShareAQueueHaveTurns() async throws {
        try await make(QueuePolicy(isFair: true))
        for text in ["a1", "a2", "a3", "b1"] { try insert(text, "group_key", "'\(text.prefix(1))'") }
        #expect(try await worked() == [["a1", "b1", "a2", "a3"]])
        try await store.close()
    }

    /// What is due later counts as well.
    @Test(arguments: OverflowPolicy.allCases) func aQueueIsFullAtItsCapacity(_ whenFull: OverflowPolicy) async throws {
        try await make(QueuePolicy(capacity: Capacity(2, whenFull: whenFull)))
        try insert("first", "unique_key", "'k'")
        try insert("later", "due_at", "(penstock_now() + 3600000000)::TEXT")
        let isRefused = [.fail, .wait].contains(whenFull)
        #expect(try refusal("second") == (isRefused ? "penstock: the queue is full" : nil))
        let status = try await store.status(of: mill).queues[0]
        #expect(status.depths.ready == 1 && status.depths.scheduled == 1)
        #expect(status.totals.dropped == (isRefused ? 0 : 1))
        let claimed = try await claim()
        #expect(texts(claimed) == [whenFull == .dropOldest ? "second" : "first"])
        // The key of what was dropped is free.
        let taken = "penstock: a message with that unique_key waits or runs already"
        #expect(try refusal("again", "unique_key", "'k'") == (whenFull == .dropOldest ? nil : taken))
        try await store.close()
    }

    /// The permit of what was dropped is that of the next one in the group, and of none that comes later.
    @Test(arguments: [GroupPolicy.fifo(), .limit(1)])
    func aGroupGoesOnInItsOrderWhenOneOfItIsDropped(_ groups: GroupPolicy) async throws {
        try await make(QueuePolicy(capacity: Capacity(2, whenFull: .dropOldest), groups: groups))
        for number in 1...3 { try insert("a\(number)", "group_key", "'a'") }
        #expect(try await worked() == [["a2"], ["a3"]])
        #expect(try await store.status(of: mill).queues[0].totals.dropped == 1)
        try await store.close()
    }

    /// It would wait for ever.
    @Test func whatWaitsForATaskThatIsDroppedIsTold() async throws {
        try await make(QueuePolicy(capacity: Capacity(1, whenFull: .dropOldest)))
        let first = NewTask(TaskName(stored: "first"), queue: mill, message: NewMessage(payload: [1]))
        let second = NewTask(
            TaskName(stored: "second"), queue: mill, message: NewMessage(payload: [2]),
            dependencies: [Dependency(on: first.name)])
        _ = try await store.start(
            NewWorkflow(WorkflowName(stored: "w"), tasks: [first, second]), durability: .processCrash)
        try insert("x")
        _ = try await store.reclaim()
        let totals = try await store.status(of: mill).queues[0].totals
        #expect(totals.dropped == 1 && totals.cancelled == 1)
        try await store.close()
    }

    /// Until a message has ended, while it waits, or for a time.
    @Test func aKeyIsTakenForAsLongAsItSays() async throws {
        try await make()
        try insert("a", "unique_key", "'ended'")
        try insert("b", "unique_key, key_scope", "'waits', 0")
        try insert("c", "unique_key, key_scope", "'period', 3600000000")
        func refusals() throws -> [String?] {
            try ["ended", "waits", "period"].map { key in
                try server.run("BEGIN")
                defer { _ = try? server.run("ROLLBACK") }
                let message = try refusal("x", "unique_key", "'\(key)'")
                return message?.replacing("penstock: a message with that unique_key ", with: "")
            }
        }
        let (runs, still) = ("waits or runs already", "holds it still")
        #expect(try refusals() == [runs, runs, still])
        let messages = try await claim()
        #expect(texts(messages) == ["a", "b", "c"])
        #expect(try refusals() == [runs, nil, still])
        try await settle(messages)
        #expect(try refusals() == [nil, nil, still])
        try await store.close()
    }

    @Test func whatIsTooLateDoesNotStart() async throws {
        try await make()
        try insert("too late", "expires_at", "'2020-01-01'")
        try insert("in time", "expires_at", "(penstock_now() + 3600000000)::TEXT")
        try insert("later", "due_at", "(penstock_now() + 3600000000)::TEXT")
        #expect(try await worked() == [["in time"]])
        let status = try await store.status(of: mill).queues[0]
        #expect(status.totals.dropped == 1 && status.depths.scheduled == 1)
        try await store.close()
    }

    /// What came in between two steps of a deletion would be deleted with the rest.
    @Test func aQueueThatIsBeingDeletedTakesNothing() async throws {
        try await make()
        try server.run("UPDATE penstock_queue SET deleting = 1 WHERE name = 'mill'")
        #expect(try refusal("a") == "penstock: the queue is being deleted, and takes no messages")
        #expect(try server.run("SELECT FROM penstock_log").rowCount == 0)
        try await store.close()
    }

    /// It would be in the store that is left, and in no other; while workers end what they have it comes along.
    @Test func aStoreWhoseQueuesHaveMovedTakesNothing() async throws {
        try await make()
        let moved =
            "penstock: the queues of this store have moved to another one, or are about to; see penstock_store"
        for (phase, message) in [("draining", nil), ("copying", moved), ("moved", moved)] as [(String, String?)] {
            try server.run("UPDATE penstock_state SET moving = '\(phase)'")
            #expect(try refusal(phase) == message, "\(phase)")
        }
        #expect(try server.run("SELECT FROM penstock_log").rowCount == 1)
        try server.run("UPDATE penstock_state SET moving = NULL")
        #expect(try await worked() == [["draining"]])
        try await store.close()
    }

    private static let headers =
        "headers are 64 and 16384 bytes at most, each named by 1 to 100 letters, digits, -, _ or ."
    private static let strings = "headers must be a JSON object of strings, as text"
    private static let sameName = "two headers have the same name but for case and punctuation"
    private static let key = "must be text of 1 to 500 bytes, none of them zero"
    private static let scope = "key_scope must be NULL, 0 or 1000 to 31622400000000 microseconds, with a unique_key"

    /// Columns, values, and how they are refused.
    private static let refused: [(columns: String, values: String, message: String)] = [
        ("priority", "101", "priority must be an integer from -100 to 100"),
        ("priority", "-101", "priority must be an integer from -100 to 100"),
        ("attempts_max", "0", "attempts_max must be an integer from 1 to 1000"),
        ("attempts_max", "1001", "attempts_max must be an integer from 1 to 1000"), ("headers", "'a=1'", strings),
        ("headers", "'[]'", strings), ("headers", #"'{"a": 1}'"#, strings), ("headers", #"'{"": "x"}'"#, headers),
        ("headers", #"'{"a b": "x"}'"#, headers),
        ("headers", "json_build_object(repeat('n', 101), 'x')::TEXT", headers),
        ("headers", "json_build_object('n', repeat('v', 16384))::TEXT", headers),
        ("headers", "(SELECT json_object_agg('n' || i, '') FROM generate_series(1, 65) AS i)::TEXT", headers),
        ("headers", #"'{"a-b": "1", "A_B": "2"}'"#, sameName), ("headers", #"'{"a": "1", "a": "2"}'"#, sameName),
        ("headers", #"'{"a": "\u0000"}'"#, "headers cannot hold zero bytes"),
        ("due_at", "'tomorrow'", "due_at must be ISO 8601 text or integer microseconds"),
        ("due_at", "'1893456000'", "due_at must be ISO 8601 text or integer microseconds"),
        ("due_at", "'9999-12-31'", "due_at cannot be more than ten years ahead"),
        ("expires_at", "'9999-12-31'", "expires_at cannot be more than ten years ahead"),
        (
            "due_at, expires_at", "(penstock_now() + 7200000000)::TEXT, (penstock_now() + 3600000000)::TEXT",
            "the message would expire before it is due, and never start"
        ),
        ("unique_key", "''", "unique_key \(key)"), ("unique_key", "repeat('k', 501)", "unique_key \(key)"),
        ("group_key", "''", "group_key \(key)"), ("group_key", "'g'", "the queue has no groups"),
        ("key_scope", "0", scope), ("unique_key, key_scope", "'k', -1", scope),
        ("unique_key, key_scope", "'k', 999", scope), ("unique_key, key_scope", "'k', 31622400000001", scope),
    ]

    @Test(arguments: refused)
    func whatIsRefusedSaysWhy(_ columns: String, _ values: String, _ message: String) async throws {
        try await make()
        #expect(try refusal("x", columns, values) == "penstock: " + message)
        #expect(try server.run("SELECT FROM penstock_log").rowCount == 0)
        try await store.close()
    }

    @Test func theLimitsThemselvesAreAllowed() async throws {
        try await make()
        try insert("x", "priority, attempts_max, unique_key", "100, 1000, repeat('k', 500)")
        try insert("x", "headers", "json_build_object(repeat('n', 100), repeat('v', 16284))::TEXT")
        try insert("x", "unique_key, key_scope", "'k', 31622400000000")
        try insert("x", "unique_key, key_scope", "'m', 1000")
        #expect(try await claim().count == 4)
        try await store.close()
    }
}
