import Dispatch
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What others do while a transaction of the application's own is open.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct OpenTransactionTests {
    private let store: PenstockStore
    private let mails: Queue<String>
    private let watch: ServerConnection

    init() async throws {
        let url = try PostgresServer.newURL()
        store = try await PenstockStore.open(postgres: url)
        mails = try await store.queue("mails", of: String.self)
        watch = try Sessions.connect(to: ServerAddress(url), busyMax: .seconds(60))
    }

    /// Whether a session that reads or writes this store waits for another one, for whatever that has.
    private func isInTheWay() throws -> Bool {
        try watch.run(
            """
            SELECT 1 FROM pg_locks AS waiting JOIN pg_locks AS held USING (pid)
            WHERE NOT waiting.granted AND held.relation = 'penstock_state'::regclass
            """
        ).rowCount > 0
    }

    /// Two that were under way at once would give one number to two messages.
    @Test func anEnqueueWaitsForATransactionThatHasEnqueued() async throws {
        let (mails, gate, begun, ended) = (mails, DispatchSemaphore(value: 0), Tally(), Tally())
        let transaction = Task { [store] in
            defer { begun.add() }
            return try await store.transaction { transaction in
                let receipt = try mails.enqueue("inside", in: transaction)
                begun.add()
                gate.wait()
                return receipt
            }
        }
        defer { gate.signal() }
        try await begun.wait(for: 1)
        let call = Task {
            defer { ended.add() }
            return try await mails.enqueue("outside")
        }
        try await eventually { try ended.count > 0 || watch.hasWaiter || isInTheWay() }
        #expect(try watch.hasWaiter)
        gate.signal()
        let (inside, outside) = (try await transaction.value, try await call.value)
        #expect(inside.sequence < outside.sequence)
        #expect(try watch.run("SELECT FROM penstock_log").rowCount == 2)
        #expect(try await mails.status().depths.ready == 2)
        try await store.close()
    }
}
