import Dispatch
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Transactions of the application's own, on the store's connections.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct TransactionTests {
    private let schema: String
    private let server: ServerConnection
    private let store: PenstockStore
    private let mails: Queue<String>
    private let reports: Queue<String>
    private let table: String

    private struct Refused: Error, Equatable {}

    init() async throws {
        let url = try PostgresServer.newURL()
        let address = try ServerAddress(url)
        schema = address.schema
        store = try await PenstockStore.open(postgres: url)
        mails = try await store.queue("mails", of: String.self)
        reports = try await store.queue("reports", of: String.self)
        server = try ServerConnection(address)
        table = "\(schema)_person"
        try server.run(
            "CREATE TABLE public.\(table) (name TEXT UNIQUE DEFERRABLE INITIALLY DEFERRED, age INT, photo BYTEA)")
    }

    private func people() throws -> Int32 { try server.run("SELECT FROM public.\(table)").rowCount }

    private func delivery() async throws -> Delivery<String> {
        var deliveries = mails.deliveries().makeAsyncIterator()
        return try #require(try await deliveries.next())
    }

    @Test func allOfItIsThereOrNothing() async throws {
        let (table, reports) = (table, reports)
        try await mails.enqueue("Ada")
        let delivery = try await delivery()
        await #expect(throws: Refused.self) {
            try await store.transaction { transaction in
                try transaction.execute("INSERT INTO \(table) (name) VALUES ($1)", .text(delivery.payload))
                try reports.enqueue("welcomed", in: transaction)
                try delivery.done(in: transaction)
                throw Refused()
            }
        }
        #expect(try people() == 0)
        #expect(try await reports.status().depths.ready == 0)
        #expect(try await mails.status().depths.leased == 1)
        let count = try await store.transaction { transaction in
            try transaction.execute(
                "INSERT INTO \(table) (name, age, photo) VALUES ($1, $2, $3)", "Ada", 36, .bytes([0, 255]))
            try delivery.done(then: [reports.draft("first")], in: transaction)
            try reports.enqueue(contentsOf: ["second", "third"], in: transaction)
            let row = try transaction.query(
                "SELECT *, age > 30 AS old, age / 2.0 AS half, NULL AS none FROM \(table)")[0]
            #expect(try row.text("name") == "Ada")
            #expect(try row.integer("age") == 36)
            #expect(try row.bytes("photo") == [0, 255])
            #expect(try row.bool("old") == true)
            #expect(try row.real("half") == 18)
            #expect(try row.text("none") == nil)
            let error = #expect(throws: PenstockError.self) { try row.integer("name") }
            #expect(error?.code == .invalidInput)
            #expect(throws: PenstockError.self) { try row.text("nobody") }
            return try transaction.query("SELECT count(*) AS count FROM \(table)")[0].integer("count")
        }
        #expect(count == 1)
        #expect(try people() == 1)
        #expect(try await reports.status().depths.ready == 3)
        #expect(try await mails.status().totals.done == 1)
        await #expect(throws: PenstockError.self) { try await delivery.done() }
        try await store.close()
    }

    /// What the application's statements see is the role's, and the store's settings come back with none of its calls.
    @Test func theSettingsAreTheApplications() async throws {
        let mails = mails
        let seen = try await store.transaction { transaction in
            func settings() throws -> [String?] {
                try ["search_path", "enable_seqscan", "enable_material", "row_security"].map {
                    try transaction.query("SELECT current_setting($1) AS value", .text($0))[0].text("value")
                }
            }
            var seen = [try settings()]
            try transaction.execute("SET LOCAL search_path = pg_catalog")
            try mails.enqueue("a", in: transaction)
            seen.append(try settings())
            return seen
        }
        #expect(seen[0] == ["\"$user\", public", "on", "on", "on"])
        #expect(seen[1] == ["pg_catalog", "on", "on", "on"])
        try await store.close()
    }

    @Test func aStatementThatFailsIsAnErrorOfItsOwn() async throws {
        let (table, mails) = (table, mails)
        let error = await #expect(throws: PostgresError.self) {
            try await store.transaction { try $0.execute("INSERT INTO \(table) VALUES ($1, $2)", "Ada", "old") }
        }
        #expect(error?.state == "22P02")
        // A body that passes the error over is told, and nothing is half there.
        let passed = await #expect(throws: PenstockError.self) {
            try await store.transaction { transaction in
                try mails.enqueue("a", in: transaction)
                _ = try? transaction.execute("SELECT nonsense")
            }
        }
        #expect(passed?.code == .invalidInput)
        let late = await #expect(throws: PostgresError.self) {
            try await store.transaction { transaction in
                try mails.enqueue("a", in: transaction)
                try transaction.execute("INSERT INTO \(table) (name) VALUES ('Ada'), ('Ada')")
            }
        }
        #expect(late?.state == "23505")
        let ended = await #expect(throws: PenstockError.self) {
            try await store.transaction { transaction in
                try mails.enqueue("a", in: transaction)
                try transaction.execute("ROLLBACK")
                try transaction.execute("INSERT INTO \(table) (name) VALUES ('Ada')")
            }
        }
        #expect(ended?.code == .invalidInput)
        #expect(try people() == 0)
        #expect(try await mails.status().depths.ready == 0)
        let zero = await #expect(throws: PenstockError.self) {
            try await store.transaction { try $0.execute("SELECT $1::text", "a\0b") }
        }
        #expect(zero?.code == .invalidInput)
        try await store.close()
    }

    /// libpq would wait for rows that nobody sends, or that nobody takes, with the store's writer lock in its hands.
    @Test(arguments: ["FROM STDIN", "TO STDOUT"]) func aCopyIsRefused(_ direction: String) async throws {
        let (table, mails) = (table, mails)
        let copy = await #expect(throws: PenstockError.self) {
            try await store.transaction { transaction in
                try mails.enqueue("a", in: transaction)
                try transaction.execute("COPY \(table) \(direction)")
            }
        }
        #expect(copy?.code == .invalidInput)
        try await mails.enqueue("b")
        #expect(try await mails.status().depths.ready == 1)
        try await store.close()
    }

    @Test func aSavepointTakesBackWhatCameAfterIt() async throws {
        let (mails, reports) = (mails, reports)
        try await mails.enqueue("Ada")
        let delivery = try await delivery()
        try await store.transaction { transaction in
            try reports.enqueue("kept", in: transaction)
            try transaction.execute("SAVEPOINT before")
            try reports.enqueue("taken back", in: transaction)
            try delivery.done(in: transaction)
            try transaction.execute("ROLLBACK TO before")
            try reports.enqueue("kept as well", in: transaction)
        }
        let status = try await reports.status()
        #expect(status.depths.ready == 2)
        #expect(status.totals.enqueued == 2)
        // It is held as before.
        try await delivery.done()
        #expect(try await mails.status().totals.done == 1)
        try await store.close()
    }

    @Test func aLostLeaseEndsIt() async throws {
        let table = table
        try await mails.enqueue("Ada")
        let delivery = try await delivery()
        try server.run("UPDATE \(schema).penstock_lease SET token = token + 1")
        let error = await #expect(throws: PenstockError.self) {
            try await store.transaction { transaction in
                try transaction.execute("INSERT INTO \(table) (name) VALUES ('Ada')")
                try delivery.done(in: transaction)
            }
        }
        #expect(error?.code == .leaseLost)
        #expect(try people() == 0)
        try await store.close()
    }

    @Test func anErrorOfACallUndoesThatCallAlone() async throws {
        let mails = mails
        try await mails.setPolicy(QueuePolicy(capacity: .init(1, whenFull: .wait)))
        try await store.transaction { transaction in
            try mails.enqueue("first", in: transaction)
            let error = #expect(throws: PenstockError.self) { try mails.enqueue("second", in: transaction) }
            #expect(error?.code == .queueFull)
            // What comes after it is as before: the application's statements go by its own settings.
            let settings = try transaction.query(
                "SELECT current_setting('search_path') AS path, current_setting('enable_seqscan') AS scans")[0]
            #expect(settings.texts == ["\"$user\", public", "on"])
        }
        #expect(try await mails.status().depths.ready == 1)
        try await store.close()
    }

    @Test func verdictsThatWereSaidBeforeAreCarriedOutFirst() async throws {
        let reports = reports
        try await mails.enqueue("Ada")
        let delivery = try await delivery()
        try server.run("SELECT \(schema).penstock_done(\(delivery.sequence), \(delivery.token.rawValue))")
        try await store.transaction { _ = try reports.enqueue("after", in: $0) }
        #expect(try await mails.status().totals.done == 1)
        try await store.close()
    }

    @Test func itIsRefusedWhereItCannotBe() async throws {
        let memory = PenstockStore(InMemoryStore())
        let error = await #expect(throws: PenstockError.self) { try await memory.transaction { _ in } }
        #expect(error?.code == .invalidInput)
        let other = try await memory.queue("mails", of: String.self)
        let foreign = await #expect(throws: PenstockError.self) {
            try await store.transaction { _ = try other.enqueue("a", in: $0) }
        }
        #expect(foreign?.code == .invalidInput)
        try await store.close()
        let closed = await #expect(throws: PenstockError.self) { try await store.transaction { _ in } }
        #expect(closed?.code == .closed)
    }

    /// As many as a program begins: those that wait have no threads, which the system has few of, and an end of their own.
    @Test func transactionsThatWaitForOthersWaitAsTasks() async throws {
        let (mails, gate, begun) = (mails, DispatchSemaphore(value: 0), Tally())
        let pool = try #require(store.storage as? PostgresStore).transactions
        let all = (1...50).map { number in
            Task { [store] in
                try await store.transaction { transaction in
                    begun.add()
                    gate.wait()
                    try mails.enqueue("\(number)", in: transaction)
                }
            }
        }
        try await begun.wait(for: 4)
        try await eventually { pool.waitingCount == 46 }
        // To be cancelled ends none of them.
        all.last?.cancel()
        let late = await #expect(throws: PenstockError.self) {
            try await store.transaction(timeout: .milliseconds(1)) { _ in }
        }
        #expect(late?.code == .busy)
        #expect(begun.count == 4 && pool.waitingCount == 46)
        for _ in all { gate.signal() }
        for transaction in all { _ = try await transaction.value }
        #expect(try await mails.status().depths.ready == 50)
        try await store.close()
    }

    /// The connection is ended within the body: the error says that nothing was done, and nothing was.
    @Test func aLostConnectionLeavesNothing() async throws {
        let (mails, table) = (mails, table)
        let error = await #expect(throws: PenstockError.self) {
            try await store.transaction { transaction in
                try transaction.execute("INSERT INTO \(table) (name) VALUES ('Ada')")
                try mails.enqueue("Ada", in: transaction)
                try transaction.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            }
        }
        #expect(error?.code == .unreachable)
        #expect(try people() == 0)
        // The next one has a connection of its own.
        try await store.transaction { transaction in
            try transaction.execute("INSERT INTO \(table) (name) VALUES ('Ada')")
            try mails.enqueue("Ada", in: transaction)
        }
        #expect(try people() == 1)
        #expect(try await mails.status().depths.ready == 1)
        try await store.close()
    }
}
