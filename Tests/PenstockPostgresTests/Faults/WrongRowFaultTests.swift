import PenstockCore
import PenstockSQL
import Testing

@testable import PenstockPostgres

/// Rows that were made wrong by hand: each costs one message, and the queue goes on, though a refused statement ends a transaction of
/// the server's.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct WrongRowFaultTests {
    private let queue: QueueName
    private let store: PostgresStore
    private let admin: ServerConnection

    init() async throws {
        queue = try QueueName("mail")
        let url = try PostgresServer.newURL()
        store = try await PostgresStore.open(url: url)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        admin = try Sessions.connect(to: ServerAddress(url), busyMax: .seconds(30))
        let messages = (1...6).map { NewMessage(payload: Array("\($0)".utf8)) }
        _ = try await store.enqueue(messages, to: queue, durability: .processCrash)
    }

    private func claim() async throws -> [ClaimedMessage] {
        try await store.claim(ClaimRequest(queue: queue, limit: 100, lease: .seconds(60))).messages
    }

    private func count(_ table: String) throws -> String {
        String(decoding: try admin.run("SELECT count(*) FROM \(table)").bytes(0, 0), as: UTF8.self)
    }

    @Test func aReadyMessageThatIsLeasedAlready() async throws {
        try admin.run(
            """
            INSERT INTO penstock_lease
            SELECT sequence, queue_id, 1, 1, 0, 9000000000000000000, 0, 1, 0, 0 FROM penstock_ready WHERE sequence = 3
            """)
        let claimed = try await claim()
        #expect(claimed.map(\.lease.sequence.rawValue) == [1, 2, 4, 5, 6])
        #expect(try count("penstock_quarantine") == "1")
        #expect(
            try await store.settle(claimed.map { Settlement($0.lease, .done) }).allSatisfy { $0 == .settled(.done) })
        try await store.close()
    }

    @Test func aLeasedMessageThatHasEndedAlready() async throws {
        let claimed = try await claim()
        try admin.run(
            "INSERT INTO penstock_outcome SELECT queue_id, 2, 'dead', 'rejected', 1, 0 FROM penstock_lease LIMIT 1")
        let results = try await store.settle(claimed.map { Settlement($0.lease, .done) })
        #expect(results.allSatisfy { $0 == .settled(.done) })
        #expect(try count("penstock_lease") == "0")
        #expect(try count("penstock_quarantine") == "1")
        try await store.close()
    }

    @Test func depthsThatAreWrong() async throws {
        try admin.run("UPDATE penstock_depth SET ready = 0, leased = 0")
        let claimed = try await claim()
        #expect(claimed.count == 6)
        #expect(try await store.status(of: queue).queues[0].depths.leased == 6)
        try await store.close()
    }

    @Test func aNumberThatIsInLineAlready() async throws {
        // The next number, which somebody has put in line by hand.
        try admin.run("INSERT INTO penstock_scheduled SELECT 7, id, 9000000000000000, 0, 0, 0, 0 FROM penstock_queue")
        let receipts = try await store.enqueue(
            [NewMessage(payload: [1], due: .after(.seconds(60))), NewMessage(payload: [2])], to: queue,
            durability: .powerLoss)
        #expect(receipts.map(\.sequence.rawValue) == [7, 8])
        #expect(try count("penstock_quarantine") == "1")
        // Six from the beginning, and the one that is due.
        #expect(try await claim().count == 7)
        try await store.close()
    }
}
