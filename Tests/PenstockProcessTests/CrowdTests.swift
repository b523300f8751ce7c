import Foundation
import Subprocess
import Testing

extension Proofs {
    /// Many processes on one file.
    @Suite struct CrowdTests {
        /// Eight producers, each a loop of calls with some lines, and four workers at once. Nobody says anything, of a
        /// lock least of all, and nothing is lost.
        @Test func nobodyIsToldOfALock() async throws {
            try await Site.use { site in
                let calls = 8 * Proofs.scale
                try await site.succeed(["queue", "create", "q"])
                let notes = try Lines()
                let work = ["work", "q", "--concurrency", "2", "--", "sh", "-c", #"read -r line; echo "$line""#]
                var workers: [Child] = []
                for _ in 1...4 { workers.append(try await site.start(work, output: notes.writeEnd)) }
                try notes.closeWriteEnd()

                let lines = try await withThrowingTaskGroup(of: [String].self) { producers in
                    for producer in 1...8 {
                        producers.addTask { try await produce(calls, by: producer, at: site) }
                    }
                    return try await producers.reduce(into: []) { $0 += $1 }
                }
                #expect(try await notes.next(lines.count).sorted() == lines.sorted())
                for worker in workers {
                    worker.send(SIGTERM)
                    let end = try await worker.end
                    #expect(end.status == .exited(0))
                    let said = end.errors.split(separator: "\n").filter { !$0.hasPrefix("penstock: Stopping;") }
                    #expect(said == [])
                }
                #expect(try await notes.rest() == [])
                #expect(try site.number("SELECT done_total FROM penstock_queues") == lines.count)
                #expect(try site.number("SELECT reclaimed_total + retried_total FROM penstock_queues") == 0)
                try await site.expectHealthy()
            }
        }

        /// - Returns: the lines, of which each call has one more than the call before.
        private func produce(_ calls: Int, by producer: Int, at site: Site) async throws -> [String] {
            var all: [String] = []
            for call in 1...calls {
                let lines = (1...call * 3).map { "\(producer) \(call) \($0)" }
                let end = try await site.succeed(
                    ["enqueue", "q", "--lines"], input: Array((lines.joined(separator: "\n") + "\n").utf8))
                #expect(end.errors == "")
                all += lines
            }
            return all
        }
    }
}
