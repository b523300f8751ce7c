import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Latencies in the file.
@Suite(.timeLimit(.minutes(5))) struct LatencyFileTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    private func worked(_ time: ManualTime) async throws -> SQLiteStore {
        let store = try await SQLiteStore.open(path: path, options: .init(time: time))
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        _ = try await store.enqueue((1...3).map { .text("\($0)") }, to: .jobs, durability: .processCrash)
        time.advance(by: .milliseconds(5))
        let messages = try await store.take(3)
        time.advance(by: .seconds(2))
        _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
        return store
    }

    @Test func theViewHasEachBucketWithItsBound() async throws {
        let store = try await worked(ManualTime())
        let shell = SQLiteShell(path: path)
        let rows = try await shell.run(
            "SELECT queue, phase, up_to_seconds, count, total_seconds FROM penstock_latencies WHERE count > 0")
        #expect(rows.output == "jobs|wait|0.01|3|0.015\njobs|work|2.511886|3|6.0\n")
        let bounds = try await shell.run(
            """
            UPDATE penstock_depth SET wait_latency = '[25\(String(repeating: ",1", count: 25))]';
            SELECT group_concat(ifnull(up_to_seconds, 'more')) FROM penstock_latencies WHERE phase = 'wait'
            """)
        let expected = LatencyHistogram.boundsInMicroseconds.map { "\(Double($0) / 1_000_000)" } + ["more"]
        #expect(bounds.output == expected.joined(separator: ",") + "\n")
        try await store.close()
    }

    /// Somebody may have written anything there. Nothing is in the way of messages then.
    @Test(arguments: [
        "", "[", "[]", "[1,]", "[,1]", "[1,-1]", "[1 ,2]", "{}", "[99999999999999999999]", "[1,2,0]", "x",
    ])
    func whatIsNoHistogramCountsAsNone(_ text: String) async throws {
        let time = ManualTime()
        let store = try await worked(time)
        let shell = SQLiteShell(path: path)
        #expect(try await shell.run("UPDATE penstock_depth SET work_latency = '\(text)'").succeeded)
        #expect(try await store.status(of: .jobs).queues.first?.latency.work == LatencyHistogram())
        #expect(try await shell.run("SELECT count(*) FROM penstock_latencies WHERE phase = 'work'").succeeded)
        try await store.put(.text("more"))
        let message = try #require(try await store.take(1).first)
        _ = try await store.settle([Settlement(message.lease, .done)])
        var one = LatencyHistogram()
        one.record(.zero)
        #expect(try await store.status(of: .jobs).queues.first?.latency.work == one)
        try await store.close()
    }

    /// A depth that contradicts the rows is counted anew, with what the transaction adds.
    @Test func depthsThatAreCountedAnewTakeNothingAway() async throws {
        let time = ManualTime()
        let store = try await worked(time)
        let before = try #require(try await store.status(of: .jobs).queues.first?.latency)
        try await store.put(.text("more"))
        #expect(try await SQLiteShell(path: path).run("UPDATE penstock_depth SET ready = 0, leased = 0").succeeded)
        let message = try #require(try await store.take(1).first)
        #expect(try await SQLiteShell(path: path).run("UPDATE penstock_depth SET leased = 0").succeeded)
        _ = try await store.settle([Settlement(message.lease, .done)])
        let after = try #require(try await store.status(of: .jobs).queues.first)
        #expect(after.depths.leased == 0)
        #expect(after.latency.wait.count == before.wait.count + 1)
        #expect(after.latency.work.count == before.work.count + 1)
        try await store.close()
    }
}
