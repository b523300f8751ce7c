import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What a claim costs beside a long line: as much as beside a short one.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct LongLineTests {
    @Test(arguments: [false, true])
    func aClaimAndAWaitGoThroughNoMoreThanTheyGive(isFair: Bool) async throws {
        let url = try PostgresServer.newURL()
        let address = try ServerAddress(url)
        let jobs = try QueueName("jobs")
        let store = try await PostgresStore.open(url: url)
        try await store.configure(
            jobs, .create(QueuePolicy(isFair: isFair), ifAbsent: true))
        for part in 0..<4 {
            let messages = (0..<1000).map { index in
                NewMessage(payload: [1], group: isFair ? "group \((part * 1000 + index) % 7)" : nil)
            }
            _ = try await store.enqueue(messages, to: jobs, durability: .processCrash)
        }
        try await store.close()
        let server = try Sessions.connect(to: address, busyMax: .seconds(60))
        let before = try await entriesRead(server, address)
        let worker = try await PostgresStore.open(url: url)
        for limit in [1, 10] {
            for _ in 0..<10 {
                let claim = try await worker.claim(ClaimRequest(queue: jobs, limit: limit, lease: .seconds(30)))
                #expect(claim.messages.count == limit)
            }
        }
        _ = try await worker.waitReason(of: SequenceNumber(120))
        try await worker.close()
        let read = try await entriesRead(server, address) - before
        // Once more than the 110 to claim them and once to give them back, and a few for each call.
        #expect(read < 3000, "\(read) entries")
    }
}
