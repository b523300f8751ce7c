import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Verdicts that are said in SQL, as by `psql` or in an application's transaction.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct SaidVerdictTests {
    private let schema: String
    private let server: ServerConnection
    private let store: PostgresStore
    private let jobs: QueueName

    init() async throws {
        let shared = try await SharedSchema()
        (schema, server, store, jobs) = (shared.schema, shared.server, shared.store, shared.jobs)
        try server.run("CREATE TABLE public.\(schema)_effect (what TEXT)")
    }

    private func claim(_ limit: Int = 1) async throws -> [ClaimedMessage] {
        try await store.claim(ClaimRequest(queue: jobs, limit: limit, lease: .seconds(30))).messages
    }

    private func put(_ messages: NewMessage..., into queue: QueueName? = nil) async throws {
        _ = try await store.enqueue(messages, to: queue ?? jobs, durability: .processCrash)
    }

    private func say(_ verdict: String, _ lease: Lease, _ rest: String = "") throws {
        try server.run("SELECT \(schema).penstock_\(verdict)(\(lease.sequence), \(lease.token.rawValue)\(rest))")
    }

    private func state(_ sequence: SequenceNumber) async throws -> MessageState? {
        try await store.messages(MessageQuery(limit: 100)).records.first { $0.sequence == sequence }?.state
    }

    /// Its worker is busy with it, and nobody else begins a transaction.
    @Test func aProcessThatListensCarriesOutVerdictsByItself() async throws {
        try await put(NewMessage(payload: [1]))
        let lease = try await claim()[0].lease
        _ = store.changes
        try say("done", lease)
        try await eventually { try await state(lease.sequence) == .done }
        try await store.close()
    }

    @Test func aVerdictIsPartOfTheTransaction() async throws {
        try await put(NewMessage(payload: [1]))
        let lease = try await claim()[0].lease
        try server.run("BEGIN; INSERT INTO public.\(schema)_effect VALUES ('never')")
        try say("done", lease)
        try server.run("ROLLBACK")
        #expect(try await store.extend([LeaseExtension(lease, by: .seconds(30))]) == [.held])
        try server.run("BEGIN; INSERT INTO public.\(schema)_effect VALUES ('once')")
        try say("done", lease, ", 'it gave this'::BYTEA")
        try server.run("COMMIT")
        // Whoever writes next carries it out.
        try await put(NewMessage(payload: [2]))
        #expect(try await state(lease.sequence) == .done)
        let status = try await store.status(of: jobs).queues[0]
        #expect(status.totals.done == 1)
        #expect(status.depths.leased == 0)
        #expect(try await store.journal(of: lease.sequence).result == Array("it gave this".utf8))
        #expect(try server.run("SELECT FROM public.\(schema)_effect").rowCount == 1)
        // Its worker, which settles as well at the end of its work, is told.
        #expect(try await store.settle([Settlement(lease, .done)]) == [.settled(.done)])
        #expect(try await store.settle([Settlement(lease, .done)]) == [.leaseLost])
        #expect(try await store.status(of: jobs).queues[0].totals.done == 1)
        try await store.close()
    }

    @Test func aStaleTokenEndsTheTransaction() async throws {
        try await put(NewMessage(payload: [1]))
        let lease = try await claim()[0].lease
        let wrong = Lease(sequence: lease.sequence, token: LeaseToken(rawValue: lease.token.rawValue ^ 1))
        try server.run("BEGIN; INSERT INTO public.\(schema)_effect VALUES ('never')")
        let error = #expect(throws: ServerError.self) { try say("done", wrong) }
        #expect(error?.state == "PN001")
        #expect(error?.message.contains("lease of message 1 was lost") == true)
        try server.run("COMMIT")
        #expect(try server.run("SELECT FROM public.\(schema)_effect").rowCount == 0)
        // A verdict counts once, before it is carried out and after.
        try say("done", lease)
        #expect(throws: ServerError.self) { try say("done", lease) }
        #expect(throws: ServerError.self) { try say("retry", lease, ", 'too late'") }
        try await put(NewMessage(payload: [2]))
        #expect(throws: ServerError.self) { try say("done", lease) }
        try await store.close()
    }

    @Test func eachVerdictLeadsWhereItLeadsToday() async throws {
        for number in 1...4 { try await put(NewMessage(payload: [UInt8(number)])) }
        let leases = try await claim(4).map(\.lease)
        try say("retry", leases[0], ", 'busy', INTERVAL '1 hour'")
        try say("reject", leases[1], ", 'no such address'")
        try say("release", leases[2])
        try say("retry", leases[3], ", 'as the policy says'")
        let again = try await claim(4)
        #expect(again.map(\.lease.sequence) == [leases[2].sequence])
        #expect(try await state(leases[0].sequence) == .scheduled)
        #expect(try await state(leases[1].sequence) == .dead)
        #expect(try await state(leases[3].sequence) == .scheduled)
        let totals = try await store.status(of: jobs).queues[0].totals
        #expect(totals.retried == 2)
        #expect(totals.dead == 1)
        let due = try server.run(
            """
            SELECT due_at - said_at BETWEEN 3600000000 AND 3601000000 FROM \(schema).penstock_scheduled
            JOIN \(schema).penstock_verdict USING (sequence) WHERE sequence = \(leases[0].sequence)
            """)
        #expect(due.text(0, 0) == "t")
        try await store.close()
    }

    /// A lease whose verdict was said is not given to somebody else, neither when it ends nor when its worker dies.
    @Test func noOtherWorkerGetsTheMessage() async throws {
        try await put(NewMessage(payload: [1]))
        let lease = try await claim()[0].lease
        try say("done", lease)
        try server.run(
            "UPDATE \(schema).penstock_lease SET deadline = 0; UPDATE \(schema).penstock_worker SET lock_name = 'gone'")
        #expect(try await store.reclaim() == Reclaimed())
        #expect(try await claim().isEmpty)
        #expect(try await state(lease.sequence) == .done)
        try await store.close()
    }

    /// A look that finds nothing must not hide what follows from a verdict.
    @Test func whatFollowsIsThereForTheNextClaim() async throws {
        let mill = try QueueName("mill")
        try await store.configure(mill, .create(QueuePolicy(groups: .fifo()), ifAbsent: true))
        try await put(
            NewMessage(payload: [1], group: "a"), NewMessage(payload: [2], group: "a"), into: mill)
        let first = try await store.claim(ClaimRequest(queue: mill, limit: 5, lease: .seconds(30))).messages
        #expect(first.map(\.payload) == [[1]])
        #expect(try await store.claim(ClaimRequest(queue: mill, limit: 5, lease: .seconds(30))).messages.isEmpty)
        try say("done", first[0].lease)
        let next = try await store.claim(ClaimRequest(queue: mill, limit: 5, lease: .seconds(30))).messages
        #expect(next.map(\.payload) == [[2]])
        try await store.close()
    }

    @Test(arguments: [("done", ""), ("reject", ", 'no such address'")])
    func itsUniqueKeyIsFreeInTheSameTransaction(_ verdict: String, _ rest: String) async throws {
        try await put(NewMessage(payload: [1], uniqueKey: UniqueKey("k")))
        let lease = try await claim()[0].lease
        func another() throws {
            try server.run("SELECT \(schema).penstock_enqueue('jobs', 'next', unique_key => 'k')")
        }
        #expect(throws: ServerError.self) { try another() }
        try server.run("BEGIN")
        try say(verdict, lease, rest)
        try another()
        try server.run("COMMIT")
        let next = try await claim()
        #expect(next.map(\.payload) == [Array("next".utf8)])
        #expect(throws: ServerError.self) { try another() }
        try await store.close()
    }

    /// Before its verdict is carried out, and after.
    @Test(arguments: [("retry", ", 'busy', INTERVAL '1 hour'", MessageState.scheduled), ("release", "", .ready)])
    func whatComesBackKeepsItsUniqueKey(_ verdict: String, _ rest: String, _ left: MessageState) async throws {
        try await put(NewMessage(payload: [1], uniqueKey: UniqueKey("k")))
        let lease = try await claim()[0].lease
        try say(verdict, lease, rest)
        func refusal() throws -> String? {
            do {
                try server.run("SELECT \(schema).penstock_enqueue('jobs', 'next', unique_key => 'k')")
                return nil
            } catch let error as ServerError {
                return error.message
            }
        }
        let taken = "penstock: a message with that unique_key waits or runs already"
        #expect(try refusal() == taken)
        try await put(NewMessage(payload: [2]))
        #expect(try await state(lease.sequence) == left)
        #expect(try refusal() == taken)
        try await store.close()
    }

    /// Above READ COMMITTED a transaction would see its lease as it was, though it is lost.
    @Test(arguments: ["REPEATABLE READ", "SERIALIZABLE"])
    func aTransactionThatCannotSeeWhatOthersDidIsRefused(level: String) async throws {
        try await put(NewMessage(payload: [1]))
        let lease = try await claim()[0].lease
        for call in [
            "penstock_done(\(lease.sequence), \(lease.token.rawValue))", "penstock_enqueue('jobs', 'x')",
        ] {
            try server.run("BEGIN ISOLATION LEVEL \(level); SELECT FROM public.\(schema)_effect")
            let error = #expect(throws: ServerError.self) { try server.run("SELECT \(schema).\(call)") }
            #expect(error?.message.hasPrefix("penstock: begin the transaction with ISOLATION LEVEL READ") == true)
            try server.run("ROLLBACK")
        }
        try say("done", lease)
        try await store.close()
    }

    @Test func aResultIsATextAsWell() async throws {
        try await put(NewMessage(payload: [1]), NewMessage(payload: [2]))
        let leases = try await claim(2).map(\.lease)
        try say("done", leases[0], ##", '{"re":"\\d"}'"##)
        #expect(throws: ServerError.self) { try say("done", leases[1], #", '\x00'"#) }
        try say("done", leases[1], #", '\x00'::bytea"#)
        _ = try await claim()
        #expect(try await store.journal(of: leases[0].sequence).result == Array(##"{"re":"\\d"}"##.utf8))
        #expect(try await store.journal(of: leases[1].sequence).result == [0])
        try await store.close()
    }

    @Test(arguments: ["", "::BYTEA"]) func aResultHasItsBound(_ type: String) async throws {
        try await put(NewMessage(payload: [1]))
        let lease = try await claim()[0].lease
        let error = #expect(throws: ServerError.self) { try say("done", lease, ", repeat('x', 1048577)\(type)") }
        #expect(error?.message == "penstock: result has more than 1048576 bytes (resultBytesMax)")
        try say("done", lease, ", repeat('x', 1048576)\(type)")
        try await put(NewMessage(payload: [2]))
        #expect(try await store.journal(of: lease.sequence).result?.count == Limits.resultBytesMax)
        try await store.close()
    }

    @Test func whoWaitsForWorkHearsOfIt() async throws {
        try await put(NewMessage(payload: [1]))
        let lease = try await claim()[0].lease
        let changes = store.changes
        try await eventually { store.lookInterval == .seconds(60) }
        let token = changes.token(for: jobs)
        async let woken: Void = changes.waitForWork(in: QueueName("jobs"), after: token)
        try await changes.waitForWaiters()
        try say("done", lease)
        try await woken
        try await store.close()
    }

    /// One that cannot be carried out stops nobody, and no other.
    @Test func aVerdictThatContradictsItselfIsSetAside() async throws {
        try await put(NewMessage(payload: [1]), NewMessage(payload: [2]))
        let leases = try await claim(2).map(\.lease)
        for lease in leases { try say("done", lease) }
        try server.run("ALTER TABLE \(schema).penstock_outcome ADD CHECK (sequence <> \(leases[0].sequence))")
        try await put(NewMessage(payload: [3]))
        #expect(try await state(leases[1].sequence) == .done)
        let aside = try server.run(
            "SELECT source FROM \(schema).penstock_quarantine WHERE reason LIKE 'The verdict cannot be carried out%'")
        #expect(aside.rowCount == 1)
        try await store.close()
    }

    @Test func aWorkerThatGoesOnAfterItsVerdictIsNotStopped() async throws {
        try await put(NewMessage(payload: [1]))
        let lease = try await claim()[0].lease
        try say("done", lease)
        let asked = LeaseExtension(lease, by: .seconds(30), progress: MessageProgress(0.5, "cleaning up"))
        #expect(try await store.extend([asked]) == [.held])
        #expect(try await store.extend([asked]) == [.held])
        #expect(try server.run("SELECT FROM \(schema).penstock_progress").rowCount == 0)
        try await store.close()
    }
}
