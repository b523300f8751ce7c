import Foundation
import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// A primary and the standby that it waits for: what was acknowledged outlives the primary, and what no standby has is not acknowledged.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct StandbyFaultTests {
    private let servers: FaultyServers
    private let primary: FaultyServers.Node
    private let standby: FaultyServers.Node
    private let queue = QueueName(stored: "mail")
    private let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

    init() async throws {
        servers = try FaultyServers()
        (primary, standby) = (servers.node("a"), servers.node("b"))
        try await servers.makePrimary(primary)
        try await servers.makeStandby(standby, of: primary)
        try await servers.ask(primary, "ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (b)'")
        try await servers.ask(primary, "SELECT pg_reload_conf()")
        try await wait(for: "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
        let store = try await opened(primary.address)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        try await store.close()
    }

    /// Asks the primary again and again: it tells nobody.
    private func wait(for sql: String) async throws {
        while try await servers.ask(primary, sql).isEmpty { await Task.yield() }
    }

    private func opened(_ url: String, busyMax: Duration = .seconds(30)) async throws -> PostgresStore {
        var options = PostgresStore.Options()
        options.busyMax = busyMax
        return try await PostgresStore.open(url: url, options: options)
    }

    @discardableResult
    private func enqueue(
        _ text: String, _ store: PostgresStore, _ durability: Durability = .powerLoss
    ) async throws -> Receipt {
        let receipts = try await store.enqueue(
            [NewMessage(payload: Array(text.utf8))], to: queue, durability: durability)
        #expect(receipts.count == 1)
        return receipts[0]
    }

    /// The texts in the log that a server has.
    private func log(of node: FaultyServers.Node) async throws -> [String] {
        try await servers.ask(
            node, "SELECT convert_from(payload, 'UTF8') FROM penstock.penstock_log ORDER BY sequence")
    }

    @Test func acknowledgedOutlivesThePrimary() async throws {
        let load = try await FaultLoad(servers.address(of: [primary, standby]), stores: 2, busyMax: .seconds(10))
        try await load.run {
            try await servers.kill(primary)
            let start = ContinuousClock.now
            let before = load.ledger.now.receipts.count
            try await servers.promote(standby)
            let promoted = ContinuousClock.now
            await load.ledger.wait { $0.receipts.count > before }
            print(
                "    promotion took \(promoted - start), and \(ContinuousClock.now - promoted) later was the first receipt"
            )
            #expect(ContinuousClock.now - promoted < .seconds(20))
        }
        try await load.check("after a promotion") { try await servers.ask(standby, $0) }
    }

    @Test func whatNoStandbyHasIsNotAcknowledged() async throws {
        let store = try await opened(primary.address)
        try await servers.freeze(standby)

        // Somebody ends the wait: the server commits, and warns that no standby has it.
        let cancelled = Task {
            try await enqueue("cancelled", store)
        }
        try await wait(for: waiting)
        // What need not be there goes on meanwhile.
        try await enqueue("other", store, .processCrash)
        let claim = try await store.claim(ClaimRequest(queue: queue, limit: 1, lease: .seconds(60)))
        #expect(try await store.settle(claim.messages.map { Settlement($0.lease, .done) }) == [.settled(.done)])
        try await servers.ask(
            primary, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        await #expect { try await cancelled.value } throws: { ($0 as? PenstockError)?.code == .outcomeUnknown }

        // Nobody does, and its time is over.
        let other = try await opened(primary.address, busyMax: .seconds(4))
        await #expect {
            try await enqueue("late", other)
        } throws: {
            ($0 as? PenstockError)?.code == .outcomeUnknown
        }

        // The standby is back.
        let patient = Task {
            try await enqueue("patient", store)
        }
        try await wait(for: waiting)
        try await servers.thaw(standby)
        #expect(try await patient.value.durability == .powerLoss)
        #expect(try await log(of: primary) == ["cancelled", "other", "late", "patient"])
        // The session that waited in vain is not left behind.
        try await enqueue("again", other)
        #expect(try await servers.ask(primary, waiting).isEmpty)
        try await store.close()
        try await other.close()
    }

    /// The primary crashes, begins a new life with further numbers, and is gone before the standby has heard of that.
    @Test func aLifeThatNoStandbyHasHeardOfGivesNoNumbers() async throws {
        let url = servers.address(of: [primary, standby])
        let store = try await opened(url, busyMax: .seconds(10))
        try await enqueue("first", store, .processCrash)
        try await servers.freeze(standby)
        try await servers.stopAtOnce(primary)
        try await servers.start(primary)
        let lost = try? await enqueue("lost", store, .processCrash)
        try await servers.kill(primary)
        try await servers.thaw(standby)
        try await servers.promote(standby)
        let other = try await opened(url, busyMax: .seconds(10))
        let receipt = try await enqueue("other", other, .processCrash)
        #expect(receipt.sequence != lost?.sequence)
        try? await store.close()
        try await other.close()
    }

    /// The connection that waits for the disk has found the server that was promoted; the one that writes has not, and the primary of
    /// yesterday goes on.
    @Test func whatOnlyThePrimaryOfYesterdayHasIsNotAcknowledged() async throws {
        let store = try await opened(servers.address(of: [standby, primary]), busyMax: .seconds(20))
        try await enqueue("first", store)
        let flush = try #require(
            try await servers.ask(
                primary,
                """
                SELECT pid FROM pg_stat_activity
                WHERE query LIKE '%pg_logical_emit_message(true, ''penstock''%' AND pid <> pg_backend_pid()
                """
            ).first)
        // A standby that has a table on its disk may not show it yet.
        try await servers.catchUp(with: primary)
        // What the standby has is not confirmed, and asked for anew where it was promoted.
        try await servers.command("kill", "-STOP", flush)
        async let second = enqueue("second", store)
        while try await log(of: standby).count < 2 { await Task.yield() }
        try await servers.promote(standby)
        #expect(try await second.durability == .powerLoss)

        do {
            let receipt = try await enqueue("third", store)
            #expect(try await log(of: standby).contains("third"), "acknowledged, and not there: \(receipt)")
        } catch let error as PenstockError {
            #expect(error.code == .outcomeUnknown)
            #expect(try await log(of: primary).contains("third"), "the writer had found the one that was promoted")
        }
        try await store.close()
    }

    /// The primary of yesterday is back, and believes to be one still. A process that waits for the new one does not go there.
    @Test func aSlowAnswerTakesNobodyBackToThePrimaryOfYesterday() async throws {
        let store = try await opened(servers.address(of: [primary, standby]), busyMax: .seconds(20))
        func looks(at node: FaultyServers.Node) throws -> Int {
            try String(contentsOfFile: node.socketFolder + "/log", encoding: .utf8)
                .components(separatedBy: "connection authorized").count - 1
        }
        try await enqueue("first", store)
        try await servers.freeze(primary)
        try await servers.promote(standby)
        try await enqueue("second", store)
        try await servers.thaw(primary)
        try await servers.ask(primary, "ALTER SYSTEM SET log_connections = on")
        try await servers.ask(primary, "SELECT pg_reload_conf()")

        // The writer waits for the lock, and looks at the other server meanwhile.
        let holder = try Sessions.connect(to: ServerAddress(standby.address), busyMax: .seconds(60))
        try holder.run("SET idle_in_transaction_session_timeout = 0")
        try holder.run("BEGIN; SET LOCAL search_path = penstock; SELECT penstock_write_lock()")
        async let third = enqueue("third", store)
        try await eventually { try looks(at: primary) >= 3 }
        try holder.run("COMMIT")
        _ = try await third
        #expect(try await log(of: standby) == ["first", "second", "third"])
        try await store.close()
    }

    /// The mark of a call that waits for a standby is there for as long as it waits, though many transactions come behind it.
    @Test func aMarkIsKeptForAsLongAsACallWaits() async throws {
        let store = try await opened(primary.address, busyMax: .seconds(60))
        try await enqueue("first", store)
        try await servers.freeze(standby)
        async let second = enqueue("second", store)
        try await wait(for: waiting)
        // More than have one row.
        for _ in 0..<300 { try await enqueue("other", store, .processCrash) }
        // On a new connection the mark is looked for.
        let pid = try #require(try await servers.ask(primary, waiting).first)
        try await servers.ask(primary, "SELECT pg_terminate_backend(\(pid))")
        try await wait(for: waiting + " AND pid <> \(pid)")
        try await servers.thaw(standby)
        _ = try await second
        // Rows that nobody looks for are removed.
        for _ in 0..<300 { try await enqueue("other", store, .processCrash) }
        #expect(try await servers.ask(primary, "SELECT id FROM penstock.penstock_writer").count <= 2)
        try await store.close()
    }

    /// A transaction that has waited in vain for a standby leaves no session at the server.
    @Test func transactionsThatWaitInVainLeaveNoSession() async throws {
        let store = try await opened(primary.address)
        try await servers.freeze(standby)
        for _ in 0..<2 {
            let error = await #expect(throws: PenstockError.self) {
                try await store.transaction(durability: .powerLoss, timeout: .seconds(3)) {
                    _ = try $0.enqueue([NewMessage(payload: [1])], to: queue)
                }
            }
            #expect(error?.code == .outcomeUnknown)
            #expect(try await servers.ask(primary, waiting).count <= 1)
        }
        try await store.transaction(durability: .processCrash, timeout: .seconds(20)) {
            _ = try $0.enqueue([NewMessage(payload: [1])], to: queue)
        }
        while try await !servers.ask(primary, waiting).isEmpty { await Task.yield() }
        try await servers.thaw(standby)
        try await store.close()
    }
}
