import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres
@testable import PenstockSQL

/// A server that is reached through TLS.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct TLSTests {
    /// libpq takes half of a record that it has no room for. What is left is not in the socket any more.
    @Test func anAnswerIsReadWholeHoweverLargeItsRecordsAre() throws {
        let relay = try TLSRelay(to: PostgresServer.shared.get(), holdsAnswers: true)
        defer { withExtendedLifetime(relay) {} }
        let connection = try ServerConnection(
            ServerAddress(relay.url(schema: "penstock")), silenceMax: .seconds(20))
        // Six rows: with some of these sizes one of them and most of the second are in the first record, all else is in the second one, and
        // there is no room for that beside the second row.
        for size in 4_060...4_080 {
            let answer = try connection.run("SELECT repeat('x', \(size)) FROM generate_series(1, 6)")
            #expect(answer.rowCount == 6, "\(size)")
        }
    }

    @Test func aStoreWorks() async throws {
        let relay = try TLSRelay(to: PostgresServer.shared.get(), holdsAnswers: false)
        defer { withExtendedLifetime(relay) {} }
        let store = try await PostgresStore.open(url: relay.url(schema: PostgresServer.newName()))
        let queue = try QueueName("mail")
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        let payloads = (1...20).map { [UInt8](repeating: UInt8($0), count: 3_000 + $0 * 100) }
        let receipts = try await store.enqueue(
            payloads.map { NewMessage(payload: $0) }, to: queue, durability: .powerLoss)
        let page = try await store.log(LogQuery(queue: queue, .after(SequenceNumber(0)), limit: 100))
        #expect(page.records.map(\.payload) == payloads)
        #expect(page.records.map(\.sequence) == receipts.map(\.sequence))
        try await store.close()
    }
}
