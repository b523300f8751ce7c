import PenstockCore
import PenstockTestKit
import PenstockSQL
import Testing

@testable import PenstockPostgres

/// A store that is only read may be at a standby.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct StandbyReadTests {
    @Test func aStandbyTellsHowTheQueuesStand() async throws {
        let queue = QueueName(stored: "jobs")
        let pair = try await FailoverPair(RelayNetwork())
        let store = try await PostgresStore.open(url: pair.address)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        _ = try await store.enqueue([NewMessage(payload: [1])], to: queue, durability: .powerLoss)
        try await store.close()
        try await pair.catchUp()

        let address = pair.network.address(of: [pair.standby], attributes: "any")
        let reader = try await PostgresStore.open(url: address, options: PostgresStore.Options(access: .readOnly))
        #expect(try await reader.status(of: nil).queues.map(\.name) == [queue])
        try await reader.close()
    }
}
