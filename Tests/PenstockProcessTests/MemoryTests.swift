import Subprocess
import Testing

extension Proofs {
    /// What reads many messages holds a few of them at a time, however large they are.
    @Suite struct MemoryTests {
        /// The payloads together have more than the memory that a command may have, with all that it maps.
        private static let messageCount = 24
        private static let kibibytesMax = 380_000

        @Test func largePayloadsDoNotLieInMemoryTogether() async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["queue", "create", "copy"])
                // Small ones first: the pages of a reader grow with these.
                try await site.succeed(
                    ["enqueue", "q", "--lines"], input: Array(String(repeating: "small\n", count: 1100).utf8))
                let large = try await site.shell(
                    """
                    WITH RECURSIVE number (value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM number WHERE value < \(Self.messageCount))
                    INSERT INTO penstock_messages (queue, payload) SELECT 'q', zeroblob(16 * 1024 * 1024) FROM number;
                    """)
                #expect(large.status == .exited(0), "\(large.errors)")
                let total = 1100 + Self.messageCount
                for (command, count) in [
                    ("list q --limit 5000", total), ("list q --last \(Self.messageCount)", Self.messageCount),
                    ("log q", total), ("replay q --from 1 --state ready --into copy", 0), ("dead list", 0),
                ] {
                    // One arena: the allocator reserves 64 MiB for each, which nobody uses.
                    let script = "export MALLOC_ARENA_MAX=1; ulimit -v \(Self.kibibytesMax) && exec \"$0\" \(command)"
                    let end = try await site.start(
                        FilePath("/bin/sh"), ["-c", script, "\(Site.program)"], input: nil, output: nil
                    ).end
                    #expect(end.status == .exited(0), "\(command): \(end.errors)")
                    #expect(end.lines.count >= count, "\(command)")
                }
                #expect(try site.number("SELECT count(*) FROM penstock_messages WHERE queue = 'copy'") == total)
            }
        }
    }
}
