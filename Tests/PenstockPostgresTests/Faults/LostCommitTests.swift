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
        store = try await PenstockStore.open(postgres: relay.url(url))
        mails = try await store.queue("mails", of: String.self)
        let address = try ServerAddress(url)
        schema = address.schema
        watch = try Sessions.connect(to: address, busyMax: .seconds(60))
    }

    private func messageCount() throws -> Int32 { try watch.run("SELECT FROM penstock_log").rowCount }

    /// A table of the application's own.
    private func makeTable() throws -> String {
        let table = "public.\(schema)_person"
        try watch.run("CREATE TABLE \(table) (name TEXT)")
        return table
    }

    /// Loses the connection of a call at its COMMIT.
    ///
    /// - Parameters:
    ///   - tookEffect: whether the server is done with the COMMIT, and its answer is lost; else it is about to.
    ///   - isThere: whether what the call has written can be seen.
    private func lose(
        _ commit: HeldCommit, tookEffect: Bool, of call: Tally, seenBy isThere: () throws -> Bool
    ) async throws {
        try await eventually { try call.count > 0 || commit.isReached }
        if tookEffect {
            await relay.keepAnswers()
            try commit.letGo()
            try await eventually { try call.count > 0 || isThere() }
            await relay.hangUp()
        } else {
            await relay.hangUp()
            // Another connection asks what came of it, behind the lock that the first one has; or nobody waits.
            try await eventually { try call.count > 0 || watch.hasWaiter }
            try commit.letGo()
        }
    }

    /// Has the server end the session of a call at its COMMIT, of which nothing comes then.
    private func end(_ commit: HeldCommit, of call: Tally) async throws {
        try await eventually { try call.count > 0 || commit.isReached }
        try commit.endSessions()
        try commit.letGo()
    }

    /// Its COMMIT is waited for, also where the store was asked for nothing.
    @Test(arguments: [true, false], [true, false])
    func anApplicationsTransactionIsToldOfAsItWas(tookEffect: Bool, enqueues: Bool) async throws {
        let (table, mails, ended) = (try makeTable(), mails, Tally())
        let commit = try HeldCommit(of: table, at: url)
        let call = Task { [store] in
            defer { ended.add() }
            return try await store.transaction { transaction in
                try transaction.execute("INSERT INTO \(table) VALUES ('Ada')")
                if enqueues { try mails.enqueue("Ada", in: transaction) }
                return "sent"
            }
        }
        func isThere() throws -> Bool { try watch.run("SELECT FROM \(table)").rowCount == 1 }
        try await lose(commit, tookEffect: tookEffect, of: ended, seenBy: isThere)
        #expect(try await call.value == "sent")
        #expect(try isThere())
        #expect(try messageCount() == (enqueues ? 1 : 0))
        await relay.forget()
        try await store.close()
    }

    @Test func anApplicationsTransactionThatCameToNothingIsNotSaidToBeThere() async throws {
        let (table, mails, ended, rolledBack) = (try makeTable(), mails, Tally(), Tally())
        let commit = try HeldCommit(of: table, at: url)
        let send: @Sendable (PostgresTransaction) throws -> Void = { transaction in
            try transaction.execute("INSERT INTO \(table) VALUES ('Ada')")
            try mails.enqueue("Ada", in: transaction)
            transaction.whenEnded(Self.none, committed: { _ in }, rolledBack: { rolledBack.add() })
        }
        let call = Task { [store] in
            defer { ended.add() }
            return await errorCode { try await store.transaction(send) }
        }
        try await end(commit, of: ended)
        #expect(await call.value == .unreachable)
        #expect(rolledBack.count == 1)
        #expect(try watch.run("SELECT FROM \(table)").rowCount == 0)
        // It is told that it can be made again.
        try await store.transaction(send)
        #expect(try watch.run("SELECT FROM \(table)").rowCount == 1)
        #expect(try messageCount() == 1)
        try await store.close()
    }

    /// A lease that nobody holds.
    private static let none = Lease(sequence: SequenceNumber(0), token: LeaseToken(rawValue: 0))

    /// What was asked for is there when its caller is told so.
    @Test func aCallThatCameToNothingIsMadeAgain() async throws {
        let (mails, ended) = (mails, Tally())
        let commit = try HeldCommit(of: "\(schema).penstock_writer", at: url)
        let call = Task { [store] in
            defer { ended.add() }
            return try await store.storage.enqueue(
                [NewMessage(payload: [1])], to: mails.name, durability: .processCrash)
        }
        try await end(commit, of: ended)
        let receipts = try await call.value
        #expect(receipts.map(\.state) == [.ready])
        let found = try watch.run("SELECT sequence FROM penstock_log")
        #expect((0..<found.rowCount).map { found.text($0, 0) } == receipts.map { "\($0.sequence)" })
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
        try await lose(commit, tookEffect: tookEffect, of: ended) { try messageCount() > 0 }
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
        let code = await errorCode {
            try await store.transaction(durability: .powerLoss) { transaction in
                try mails.enqueue("Ada", in: transaction)
                // The server's process has it until it is gone.
                try transaction.execute("SELECT 1 FROM \(lock)")
                let id = try transaction.query("SELECT pg_backend_pid() AS id")[0].integer("id") ?? 0
                // Called between the COMMIT and the wait for the disk.
                transaction.whenEnded(
                    Self.none,
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
