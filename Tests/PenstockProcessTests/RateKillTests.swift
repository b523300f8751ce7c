import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// Workers that are killed again and again while a rate says when messages start: the bound holds in every window.
    ///
    /// Every attempt fails, because the file keeps the start of each attempt that did.
    @Suite struct RateKillTests {
        private static let killCount = 6 * Proofs.scale
        private static let messageCount = 100 * Proofs.scale
        /// Of a message, and so are twice as many starts.
        private static let attemptsMax = 2
        /// A second, for the queue as well as for its only group.
        private static let rate = 100
        /// A start is recorded by the wall clock and allowed by the boot clock, which the worker reads a moment apart. So a
        /// window may seem to have two more.
        private static let slackCount = 2

        @Test(arguments: ["--rate", "--rate-per-key"])
        func noWindowHasMoreStartsThanTheRate(option: String) async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    try await site.succeed([
                        "queue", "create", "q", option, "\(Self.rate)/1s", "--attempts", "\(Self.attemptsMax)",
                        "--retry-base", "0",
                    ])
                    let lines = (0..<Self.messageCount).map { "\($0)\n" }.joined()
                    let group = option == "--rate" ? [] : ["--group", "g"]
                    try await site.succeed(["enqueue", "q", "--lines"] + group, input: Array(lines.utf8))
                    let work = ["work", "q", "--concurrency", "4", "--", "false"]
                    let reader = try DatabaseQueue(path: site.file)
                    defer { try? reader.close() }
                    func numbers(_ query: String) throws -> [Int] {
                        try reader.read { try Int.fetchAll($0, sql: query) }
                    }
                    var workers: [Child] = []
                    for _ in 0..<3 { workers.append(try await site.start(work)) }
                    let startCount = Self.messageCount * Self.attemptsMax
                    let pace = startCount / (Self.killCount + 1)
                    for kill in 0..<Self.killCount {
                        let count = kill * pace + random.next(in: 1...pace)
                        try await eventually { try numbers("SELECT count(*) FROM penstock_attempt")[0] >= count }
                        let index = random.next(in: 0...2)
                        workers[index].send(SIGKILL)
                        #expect(try await workers[index].end.status == .signaled(SIGKILL), Proofs.repeatable)
                        workers[index] = try await site.start(work)
                    }
                    try await eventually {
                        try numbers("SELECT dead_total FROM penstock_queues") == [Self.messageCount]
                    }
                    try await site.stop(workers)
                    let starts = try numbers("SELECT started_at FROM penstock_attempt ORDER BY started_at")
                    #expect(starts.count == startCount, Proofs.repeatable)
                    expectBound(starts)
                    try await site.expectHealthy()
                }
            }
        }

        /// No second has more starts than the rate; and when there are enough of them to tell, there are not many less.
        private func expectBound(_ starts: [Int]) {
            let distance = Self.rate + Self.slackCount
            for (first, last) in zip(starts, starts.dropFirst(distance)) {
                #expect(last - first >= 1_000_000, "\(first) to \(last); \(Proofs.repeatable)")
            }
            guard Proofs.scale > 1 else { return }
            // What the last workers that are killed had is late.
            let count = starts.count * 95 / 100
            let seconds = Double(starts[count] - starts[0]) / 1e6
            let mean = Double(count) / seconds
            print("rate: \(count) starts in \(seconds) s, \(mean) a second, \(Self.killCount) kills")
            #expect(mean >= 0.95 * Double(Self.rate), Proofs.repeatable)
        }
    }
}
