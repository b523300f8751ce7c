import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// Schedules whose workers are killed at any moment: a message for each firing, and a firing for each time that is due.
    @Suite struct ScheduleKillTests {
        @Test func eachFiringHappensOnceThoughWorkersAreKilled() async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    for queue in ["worked", "left"] { try await site.succeed(["queue", "create", queue]) }
                    for number in 1...6 {
                        // Half of them in a queue that nobody works: any worker fires them.
                        try await site.succeed([
                            "schedule", "add", "s\(number)", "@every 1s", "--missed", "all",
                            "--queue", number.isMultiple(of: 2) ? "worked" : "left", "x",
                        ])
                    }
                    // While somebody has the file open, the write-ahead log stays where it is.
                    let holder = try DatabaseQueue(path: site.file)
                    defer { try? holder.close() }
                    var killedCount = 0
                    for _ in 1...6 * Proofs.scale {
                        let counts = (random.next(in: 1...30), random.next(in: 1...30))
                        async let first = site.strike(["work", "worked", "--", "true"], afterWrites: counts.0)
                        async let second = site.strike(["work", "worked", "--", "true"], afterWrites: counts.1)
                        for end in try await [first, second] where end.status == .signaled(SIGKILL) { killedCount += 1 }
                    }
                    #expect(killedCount > 0, Proofs.repeatable)
                    let fired = try site.number("SELECT sum(fired_total) FROM penstock_schedules")
                    #expect(fired > 6)
                    #expect(try site.number("SELECT count(*) FROM penstock_messages") == fired, Proofs.repeatable)
                    // A hundred firings of each are kept, and that is more than there are seconds.
                    let lost = try site.number(
                        """
                        SELECT count(*) FROM penstock_firing AS firing LEFT JOIN penstock_log AS log USING (sequence)
                        WHERE log.sequence IS NULL OR firing.outcome <> 'enqueued'
                        """)
                    #expect(lost == 0, Proofs.repeatable)
                    #expect(
                        try site.number("SELECT count(DISTINCT sequence) FROM penstock_firing") == fired,
                        Proofs.repeatable)
                    let gaps = try site.number(
                        """
                        SELECT count(*) FROM (SELECT due - lag(due) OVER (PARTITION BY schedule_id ORDER BY due) AS step
                            FROM penstock_firing) WHERE step <> 1000000
                        """)
                    #expect(gaps == 0, "A second without its firing; \(Proofs.repeatable)")
                    // What the killed ones had in their hands is worked by another one.
                    try await site.succeed(["work", "worked", "--drain", "--", "true"])
                    try await site.expectHealthy()
                }
            }
        }
    }
}
