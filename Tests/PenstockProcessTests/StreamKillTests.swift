import Foundation
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// A stream whose buffer is a queue, of sequences or of publishers, in a process that is killed fifty times on its way
    /// through 10,000 numbers.
    @Suite struct StreamKillTests {
        static let killCount = 50
        static let count = 10_000 * Proofs.scale

        /// Numbers that came out, of the process that was killed so many times and then ran to its end.
        private func run(
            _ policy: String, of kind: String = "sequences", at site: Site, _ random: SeededRandom
        ) async throws -> [Int] {
            var out: [Int] = []
            // What drops gives about two in three.
            let given = policy == "wait" ? Self.count : Self.count / 2
            let arguments = [site.file, policy, "\(Self.count)", kind]
            for _ in 1...Self.killCount {
                let lines = try Lines()
                let child = try await site.start(Site.pipeline, arguments, input: nil, output: lines.writeEnd)
                try lines.closeWriteEnd()
                out += try await lines.next(random.next(in: 1...(2 * given / (Self.killCount + 1)))).compactMap {
                    Int($0)
                }
                child.send(SIGKILL)
                out += try await lines.rest().compactMap { Int($0) }
                #expect([.signaled(SIGKILL), .exited(0)].contains(try await child.end.status), Proofs.repeatable)
            }
            let lines = try Lines()
            let last = try await site.start(Site.pipeline, arguments, input: nil, output: lines.writeEnd)
            try lines.closeWriteEnd()
            out += try await lines.rest().compactMap { Int($0) }
            let end = try await last.end
            #expect(end.status == .exited(0), "\(end.errors) \(Proofs.repeatable)")
            return out
        }

        @Test(arguments: ["sequences", "publishers"])
        func nothingIsLostOfAStreamThatWaits(kind: String) async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    let out = try await run("wait", of: kind, at: site, random)
                    #expect(Set(out) == Set(1...Self.count), Proofs.repeatable)
                    #expect(try site.number("SELECT count(*) FROM penstock_drops") == 0)
                    try await expectOnlyWhatRanAtAKillTwice(out, site)
                }
            }
        }

        @Test(arguments: ["drop-newest", "drop-oldest"])
        func whatIsNotGivenIsOnRecordAsDropped(policy: String) async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    let out = try await run(policy, at: site, random)
                    let dropped = try site.column("SELECT payload FROM penstock_drops").compactMap { Int($0) }
                    #expect(dropped.count > Self.killCount)
                    #expect(Set(out).isDisjoint(with: dropped), Proofs.repeatable)
                    #expect(Set(out).count + dropped.count == Self.count, Proofs.repeatable)
                    #expect(Set(out).union(dropped) == Set(1...Self.count), Proofs.repeatable)
                    try await expectOnlyWhatRanAtAKillTwice(out, site)
                }
            }
        }

        private func expectOnlyWhatRanAtAKillTwice(_ out: [Int], _ site: Site) async throws {
            let again = out.count - Set(out).count
            #expect(again <= Self.killCount * 8, "no process worked on more than eight; \(Proofs.repeatable)")
            let reclaimed = try site.number("SELECT reclaimed_total FROM penstock_queues WHERE queue = 'numbers'")
            #expect(reclaimed > 0, "no kill hit a number at work; \(Proofs.repeatable)")
            #expect(again <= reclaimed, Proofs.repeatable)
            let left = try site.number(
                "SELECT count(*) FROM penstock_messages WHERE state NOT IN ('done', 'dropped')")
            #expect(left == 0, Proofs.repeatable)
            try await site.expectHealthy()
        }
    }
}
