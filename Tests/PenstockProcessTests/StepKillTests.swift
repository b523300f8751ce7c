import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// A handler of ten steps in a process that is killed at any moment of them.
    @Suite struct StepKillTests {
        static let killCount = 100 * Proofs.scale
        static let stepCount = 10
        static let messageCount = 60 * Proofs.scale

        @Test func eachStepIsTakenOnceInTheStoreAndInOrderElsewhere() async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    try await site.succeed(["queue", "create", "steps", "--attempts", "\(1000)"])
                    var messageCount = 0
                    func enqueue(_ count: Int) async throws {
                        let input = (messageCount + 1...messageCount + count).map { "\($0)\n" }.joined()
                        try await site.succeed(["enqueue", "steps", "--lines"], input: Array(input.utf8))
                        messageCount += count
                    }
                    try await enqueue(Self.messageCount)
                    _ = try await site.shell(
                        "CREATE TABLE effect (message INTEGER, step INTEGER, at INTEGER PRIMARY KEY);")
                    var lines: [String] = []
                    var killedCount = 0
                    // Half of the effects are lines, and what is killed is begun again: kills lie all over the work.
                    let between = Self.messageCount * Self.stepCount / 2 / Self.killCount
                    for _ in 1...Self.killCount {
                        let output = try Lines()
                        let child = try await site.start(Site.stepper, [site.file], input: nil, output: output.writeEnd)
                        try output.closeWriteEnd()
                        lines += try await output.next(random.next(in: 1...max(2, between + 2)))
                        child.send(SIGKILL)
                        lines += try await output.rest()
                        if try await child.end.status == .signaled(SIGKILL) {
                            killedCount += 1
                        } else {
                            // On a machine with too much to do a kill may come after all the work.
                            try await enqueue(10)
                        }
                    }
                    let output = try Lines()
                    let last = try await site.start(Site.stepper, [site.file], input: nil, output: output.writeEnd)
                    try output.closeWriteEnd()
                    lines += try await output.rest()
                    let end = try await last.end
                    #expect(end.status == .exited(0), "\(end.errors) \(Proofs.repeatable)")
                    #expect(killedCount > Self.killCount / 2, Proofs.repeatable)

                    #expect(
                        try site.number("SELECT count(*) FROM penstock_messages WHERE state = 'done'")
                            == messageCount, Proofs.repeatable)
                    try expectEffects(lines, of: messageCount, killedCount, site)
                    try await site.expectHealthy()
                }
            }
        }

        /// In the store each effect is there once. Elsewhere it is there, twice only where a kill came between it and its record,
        /// and never behind one of a later step.
        private func expectEffects(
            _ lines: [String], of messageCount: Int, _ killedCount: Int, _ site: Site
        ) throws {
            let expected = messageCount * Self.stepCount / 2
            #expect(try site.number("SELECT count(*) FROM effect") == expected, Proofs.repeatable)
            #expect(
                try site.number("SELECT count(*) FROM (SELECT DISTINCT message, step FROM effect)") == expected,
                Proofs.repeatable)
            let late = try site.number(
                """
                SELECT count(*) FROM (SELECT step - lag(step) OVER (PARTITION BY message ORDER BY at) AS gap FROM effect)
                WHERE gap <> 2
                """)
            #expect(late == 0, Proofs.repeatable)

            let noted = lines.map { $0.split(separator: " ").compactMap { Int($0) } }
            #expect(noted.allSatisfy { $0.count == 2 })
            #expect(Set(noted).count == expected, Proofs.repeatable)
            #expect(noted.count <= expected + killedCount, Proofs.repeatable)
            for (message, steps) in Dictionary(grouping: noted, by: { $0[0] }) {
                let order = steps.map { $0[1] }
                #expect(order == order.sorted(), "message \(message): \(order) \(Proofs.repeatable)")
            }
        }
    }
}
