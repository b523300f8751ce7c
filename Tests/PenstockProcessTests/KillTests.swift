import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// Whatever is killed, whenever: what was acknowledged is done, and only what ran at a kill runs again.
    @Suite struct KillTests {
        static let rounds = 20 * Proofs.scale

        /// Whether to go on: where no kill has come at the right moment, a machine with too much to do is given more of them.
        private static func goesOn(after round: Int, hits: Int) -> Bool {
            round < rounds || hits == 0 && round < 10 * rounds
        }

        @Test func nothingIsLostWhenProducersAndWorkersAreKilled() async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    var (lost, round) = (0, 0)
                    while Self.goesOn(after: round, hits: lost) {
                        round += 1
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
                    var (before, inTheMiddle, round) = (0, 0, 0)
                    while Self.goesOn(after: round, hits: inTheMiddle) {
                        round += 1
                        let end = try await site.strike(
                            ["enqueue", "q", "--lines", "--file", lines], afterWrites: random.next(in: 1...30))
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

        /// Three at a time on a file that is not there yet, killed while they make it; in every other round one of them
        /// lives. Whatever is left of the file and its log, the others and the next one go on from there.
        @Test func aFileIsMadeByWhoeverLives() async throws {
            try await Proofs.withSeed { random in
                var (unfinished, round) = (0, 0)
                while Self.goesOn(after: round, hits: unfinished) {
                    round += 1
                    try await Site.use { site in
                        // To make a file takes some two hundred writes, of which the kernel may tell several as one.
                        let most = 1 << random.next(in: 0...8)
                        let counts = [
                            random.next(in: 1...most), random.next(in: 1...most),
                            round.isMultiple(of: 2) ? random.next(in: 1...most) : .max,
                        ]
                        let ends = try await withThrowingTaskGroup(of: Child.End.self) { makers in
                            for count in counts {
                                makers.addTask {
                                    let end = try await site.strike(
                                        ["enqueue", "q", "x", "--create"], afterWrites: count, to: site.folder)
                                    let isKilled = count < .max && end.status == .signaled(SIGKILL)
                                    #expect(
                                        isKilled || end.status == .exited(0), "\(end.errors); \(Proofs.repeatable)")
                                    return end
                                }
                            }
                            return try await makers.reduce(into: []) { $0.append($1) }
                        }
                        if try await site.run(["list"]).status != .exited(0) { unfinished += 1 }
                        try await site.succeed(["enqueue", "q", "last", "--create"])
                        // Each writes its message's number once that is there.
                        let numbers = ends.flatMap(\.lines)
                        let found = Set(try site.column("SELECT sequence FROM penstock_messages"))
                        #expect(Set(numbers).count == numbers.count && found.isSuperset(of: numbers), Proofs.repeatable)
                        try await site.expectHealthy()
                    }
                }
                #expect(unfinished > 0, "no kill came before the file was whole; \(Proofs.repeatable)")
            }
        }
    }
}
