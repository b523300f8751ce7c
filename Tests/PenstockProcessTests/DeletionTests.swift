import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Faults {
    /// A queue that is being deleted when the process that deletes it is killed.
    @Suite struct DeletionTests {
        @Test func aDeletionThatWasKilledIsSeenAndCanBeFinished() async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    let lines = try site.write("lines", Array((1...6000).map { "\($0)\n" }.joined().utf8))
                    // While somebody has the file open, the write-ahead log stays where it is.
                    try await site.succeed(["queue", "create", "other"])
                    let holder = try DatabaseQueue(path: site.file)
                    defer { try? holder.close() }
                    var inTheMiddle = 0
                    for round in 1...60 * Proofs.scale where inTheMiddle == 0 || round <= 6 * Proofs.scale {
                        try await site.succeed(["queue", "create", "q"])
                        try await site.succeed(["enqueue", "q", "--lines", "--file", lines])
                        try await site.succeed(["cancel", "--queue", "q"])
                        let end = try await site.strike(
                            ["queue", "delete", "q"], afterWrites: random.next(in: 1...30))
                        let isGone = try site.column("SELECT name FROM penstock_queue WHERE name = 'q'").isEmpty
                        if isGone { continue }
                        #expect(end.status != .exited(0), Proofs.repeatable)
                        if try site.number("SELECT deleting FROM penstock_queue WHERE name = 'q'") == 1 {
                            inTheMiddle += 1
                            let listed = try await site.succeed(["queue", "list"])
                            #expect(listed.output.contains("deleting"), "\(listed.output)")
                            try await site.fail(["enqueue", "q", "late"], with: 69, saying: "is being deleted")
                            let sql = try await site.shell(
                                "INSERT INTO penstock_messages (queue, payload) VALUES ('q', 'late')")
                            #expect(sql.errors.contains("is being deleted"), "\(sql.errors)")
                        }
                        try await site.succeed(["queue", "delete", "q"])
                        #expect(try site.number("SELECT count(*) FROM penstock_log") == 0, Proofs.repeatable)
                    }
                    #expect(inTheMiddle > 0, "no kill came in the middle; \(Proofs.repeatable)")
                    try await site.expectHealthy()
                }
            }
        }
    }
}
