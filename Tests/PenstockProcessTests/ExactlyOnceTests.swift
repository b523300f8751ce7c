import Foundation
import Subprocess
import Testing

extension Proofs {
    @Suite struct ExactlyOnceTests {
        /// Two workers at once, four commands each. Every command notes who ran it, which message and attempt that
        /// was, and the line itself, in one write to the end of one file.
        @Test func everyLineIsWorkedExactlyOnceWhenNothingIsKilled() async throws {
            try await Site.use { site in
                let count = 10_000 * Proofs.scale
                let lines = (1...count).map { "line \($0) \(String(repeating: "x", count: $0 % 90))" }
                try await site.succeed(["queue", "create", "q"])
                let receipt = try await site.succeed(
                    ["enqueue", "q", "--lines"], input: Array((lines.joined(separator: "\n") + "\n").utf8))
                #expect(receipt.output == "\(count) messages enqueued (1 to \(count)).\n")

                let notes = try FileDescriptor.open(
                    FilePath("\(site.folder)/notes"), .writeOnly, options: [.create, .append],
                    permissions: .ownerReadWrite)
                defer { try? notes.close() }
                let command = [
                    "sh", "-c", #"IFS= read -r line; echo "$PPID $PENSTOCK_SEQUENCE $PENSTOCK_ATTEMPT $line""#,
                ]
                let work = ["work", "q", "--concurrency", "4", "--drain", "--"] + command
                let workers = [
                    try await site.start(work, output: notes), try await site.start(work, output: notes),
                ]
                for worker in workers {
                    let end = try await worker.end
                    #expect(end.status == .exited(0))
                    #expect(end.errors == "")
                }

                let noted = try String(contentsOfFile: "\(site.folder)/notes", encoding: .utf8)
                    .split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1) }
                // Message n is line n, and was its first attempt.
                let expected = lines.enumerated().map { "\($0.offset + 1) 1 \($0.element)" }
                #expect(noted.map { String($0[1]) }.sorted() == expected.sorted())
                #expect(Set(noted.map { Int32($0[0]) }) == Set(workers.map(\.id)), "both workers had work")

                #expect(try site.number("SELECT done_total FROM penstock_queues") == count)
                #expect(
                    try site.number("SELECT reclaimed_total + ready + leased + scheduled FROM penstock_queues") == 0)
                #expect(try site.number("SELECT count(*) FROM penstock_attempts") == 0)
                // A worker whose end met another one's leaves its row to the next that looks for lost work.
                try await site.succeed(["work", "q", "--drain", "--", "true"])
                #expect(try site.number("SELECT count(*) FROM penstock_workers") == 0)
                try await site.expectHealthy()
            }
        }
    }
}
