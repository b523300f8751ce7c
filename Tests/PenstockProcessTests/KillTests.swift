import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// Whatever is killed, whenever: what was acknowledged is done, and only what ran at a kill runs again.
    @Suite struct KillTests {
        static let rounds = 20 * Proofs.scale

        @Test func nothingIsLostWhenProducersAndWorkersAreKilled() async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    var lost = 0
                    for round in 1...Self.rounds {
                        let mill = Mill(
                            site: site, queue: "q\(round)", capacity: round.isMultiple(of: 3) ? 15 : nil, random: random
                        )
                        lost += try await mill.run()
                    }
                    #expect(lost > 0, "no kill hit a worker with a message; \(Proofs.repeatable)")
                    try await site.expectHealthy()
                }
            }
        }

        /// What a producer was told of no longer matters when it is killed itself: of its lines the first so many are
        /// there, and no batch is there in part.
        @Test func theBatchesOfAKilledProducerAreWhole() async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    try await site.succeed(["queue", "create", "q"])
                    let count = 20_000
                    let batch = 1000
                    let lines = try site.write("lines", Array((1...count).map { "\($0)\n" }.joined().utf8))
                    // While somebody has the file open, the write-ahead log stays where it is.
                    let holder = try DatabaseQueue(path: site.file)
                    defer { try? holder.close() }
                    var before = 0
                    var inTheMiddle = 0
                    for _ in 1...Self.rounds {
                        let end = try await site.strike(
                            ["enqueue", "q", "--lines", "--file", lines], afterWrites: random.next(in: 1...60))
                        let found = try site.column(
                            "SELECT payload FROM penstock_messages WHERE sequence > ? ORDER BY sequence", [before])
                        before += found.count
                        #expect(found == (1...count).prefix(found.count).map(String.init), Proofs.repeatable)
                        #expect(found.count.isMultiple(of: batch), "a batch in part; \(Proofs.repeatable)")
                        if end.status == .exited(0) { #expect(found.count == count) }
                        if 1..<count ~= found.count { inTheMiddle += 1 }
                    }
                    #expect(inTheMiddle > 0, "no kill came between two batches; \(Proofs.repeatable)")
                    #expect(try site.number("SELECT ready FROM penstock_queues") == before)
                    try await site.expectHealthy()
                }
            }
        }
    }
}
