import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What is said of a COMMIT whose connection is lost: before it takes effect, after that, and before the wait for the disk.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct LostCommitTests {
    private let url: String
    private let schema: String
    private let relay: Relay
    private let store: PenstockStore
    private let mails: Queue<String>
    /// A session of the test's own, which does not go through the relay.
    private let watch: ServerConnection

    init() async throws {
        url = try PostgresServer.newURL()
        relay = try Relay(to: PostgresServer.shared.get().socketPath)
        store = try await PenstockStore.open(
            postgres: url.replacing(/\?host=[^&]*/, with: "?host=127.0.0.1") + "&port=\(relay.port)")
        mails = try await store.queue("mails", of: String.self)
        let address = try ServerAddress(url)
        schema = address.schema
        watch = try Sessions.connect(to: address, busyMax: .seconds(60))
    }

    private func messageCount() throws -> Int32 { try watch.run("SELECT FROM penstock_log").rowCount }

    /// Loses the connection of a call at its COMMIT.
    ///
    /// - Parameter tookEffect: whether the server is done with the COMMIT, and its answer is lost; else it is about to.
    private func lose(_ commit: HeldCommit, tookEffect: Bool, of call: Tally) async throws {
        try await eventually { try call.count > 0 || commit.isReached }
        if tookEffect {
            await relay.keepAnswers()
            try commit.letGo()
            try await eventually { try call.count > 0 || messageCount() > 0 }
            await relay.hangUp()
        } else {
            await relay.hangUp()
            // Another connection asks what came of it, behind the lock that the first one has; or nobody waits.
            try await eventually { try call.count > 0 || watch.hasWaiter }
            try commit.letGo()
        }
    }

    @Test(arguments: [true, false])
    func anApplicationsTransactionIsToldOfAsItWas(tookEffect: Bool) async throws {
        let (table, mails, ended) = ("public.\(schema)_person", mails, Tally())
        try watch.run("CREATE TABLE \(table) (name TEXT)")
        let commit = try HeldCommit(of: table, at: url)
        let call = Task { [store] in
            defer { ended.add() }
            return try await store.transaction { transaction in
                try transaction.execute("INSERT INTO \(table) VALUES ('Ada')")
                try mails.enqueue("Ada", in: transaction)
                return "sent"
            }
        }
        try await lose(commit, tookEffect: tookEffect, of: ended)
        #expect(try await call.value == "sent")
        #expect(try watch.run("SELECT FROM \(table)").rowCount == 1)
        #expect(try messageCount() == 1)
        await relay.forget()
        try await store.close()
    }

    /// One that had not been found would be made again.
    @Test(arguments: [true, false])
    func aCallTakesEffectOnce(tookEffect: Bool) async throws {
        let (mails, ended) = (mails, Tally())
        let commit = try HeldCommit(of: "\(schema).penstock_writer", at: url)
        let call = Task {
            defer { ended.add() }
            return try await mails.enqueue("Ada")
        }
        try await lose(commit, tookEffect: tookEffect, of: ended)
        #expect(try await call.value.state == .ready)
        #expect(try messageCount() == 1)
        #expect(try await mails.status().depths.ready == 1)
        await relay.forget()
        try await store.close()
    }

    /// A server that was promoted, or has crashed, may be without what was committed a moment ago, and must not confirm it.
    @Test(arguments: [true, false])
    func aNewConnectionConfirmsWhatItsServerHas(isThere: Bool) async throws {
        let (url, mails, lost) = (url, mails, Tally())
        let lock = "pg_advisory_lock('\(schema).penstock_log'::regclass::oid::bigint)"
        let none = Lease(sequence: SequenceNumber(0), token: LeaseToken(rawValue: 0))
        let code = await errorCode {
            try await store.transaction(durability: .powerLoss) { transaction in
                try mails.enqueue("Ada", in: transaction)
                // The server's process has it until it is gone.
                try transaction.execute("SELECT 1 FROM \(lock)")
                let id = try transaction.query("SELECT pg_backend_pid() AS id")[0].integer("id") ?? 0
                // Called between the COMMIT and the wait for the disk.
                transaction.whenEnded(
                    none,
                    committed: { _ in
                        guard let server = try? Sessions.connect(to: ServerAddress(url), busyMax: .seconds(60)),
                            (try? server.run("SELECT pg_terminate_backend(\(id)); SELECT 1 FROM \(lock)")) != nil,
                            isThere || (try? server.run("DELETE FROM penstock_writer")) != nil
                        else { return }
                        lost.add()
                    }, rolledBack: {})
            }
        }
        #expect(lost.count == 1)
        #expect(try messageCount() == 1)
        let expected: PenstockError.Code? = isThere ? nil : .outcomeUnknown
        #expect(code == expected)
        try await store.close()
    }
}
