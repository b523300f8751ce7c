import Foundation
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
        let claimed = try await store.claim(ClaimRequest(queue: queue, limit: 1, lease: .seconds(3600))).messages
        let sequence = try #require(claimed.first).lease.sequence
        try await pair.catchUp()

        let address = pair.network.address(of: [pair.standby], attributes: "any")
        let reader = try await PostgresStore.open(url: address, options: PostgresStore.Options(access: .readOnly))
        let status = try await reader.status(of: nil)
        #expect(status.queues.map(\.name) == [queue])
        // The worker lives, and its sessions are at the primary.
        #expect(status.workers.map(\.isAlive) == [nil])
        let holder = try #require(try await reader.waitReason(of: sequence).holder)
        #expect(holder.isAlive == nil)
        try await reader.close()
        let tool = try Tool()
        try await tool.fail(
            ["check", "--all", "--min-workers", "1"], at: address, with: 3, saying: "leave out --min-workers")
        try await tool.succeed(["check", "--all"], at: address)
        // What changes something is refused there at once, though the address allows for a standby.
        let began = ContinuousClock.now
        for arguments in [["enqueue", "jobs", "x"], ["queue", "create", "other"]] {
            try await tool.fail(arguments, at: address, with: 69, saying: "is a standby, where nothing can be changed")
        }
        #expect(began.duration(to: .now) < .seconds(30))
        try await store.close()
    }

    /// A standby refuses LISTEN, and keeps its connections when it is promoted.
    @Test func aFollowerAtAStandbyLooksThereAndListensOnceItIsPromoted() async throws {
        let queue = QueueName(stored: "jobs")
        let pair = try await FailoverPair(RelayNetwork())
        let store = try await PostgresStore.open(url: pair.address)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        try await pair.catchUp()

        let address = pair.network.address(of: [pair.standby], attributes: "any")
        let reader = try await PostgresStore.open(url: address, options: PostgresStore.Options(access: .readOnly))
        let token = reader.changes.token(for: queue)
        // Those who wait rely on its looks.
        try await eventually { reader.lookInterval == .seconds(60) }
        _ = try await store.enqueue([NewMessage(payload: [1])], to: queue, durability: .powerLoss)
        try await reader.changes.wait(for: queue, after: token)
        let log = try String(contentsOfFile: pair.standby.socketFolder + "/log", encoding: .utf8)
        #expect(!log.contains("cannot execute LISTEN"))
        try await store.close()

        try await pair.servers.promote(pair.standby)
        let listeners = "SET search_path = penstock; \(Sessions.otherListener)"
        try await eventually { try await !pair.servers.ask(pair.standby, listeners).isEmpty }
        try await reader.close()
    }
}
