import PenstockTestKit
import Subprocess
import Testing

extension Faults {
    /// Messages that are to be cancelled while another process works on them.
    @Suite struct CancelTests {
        private let states = "SELECT state || ' ' || coalesce(reason, '') || ' ' || attempt FROM penstock_messages"

        /// A site whose message 1 has a worker whose command has begun, and would be tried again at once.
        private func withWorker(
            lease: String = "30s", _ body: (Site, Child, Lines) async throws -> Void
        ) async throws {
            try await Site.use { site in
                let lines = try Lines()
                try await site.succeed(["queue", "create", "q", "--retry-base", "0", "--attempts", "9"])
                try await site.succeed(["enqueue", "q", "x"])
                let script = "trap 'echo asked; exit 1' TERM; echo began; sleep 1000 & wait"
                let worker = try await site.start(
                    ["work", "q", "--lease", lease, "--", "sh", "-c", script], output: lines.writeEnd)
                try lines.closeWriteEnd()
                #expect(try await lines.next() == "began")
                try await body(site, worker, lines)
                try await site.expectHealthy()
            }
        }

        /// The worker in the other process hears it at once. It would be told as its lease is extended, which is after a third of that, and
        /// then the test's time is long over.
        @Test func theWorkerHearsOfIt() async throws {
            try await withWorker(lease: "1h") { site, worker, lines in
                try await site.succeed(["cancel", "1", "--within", "1h"])
                #expect(try await lines.next() == "asked")
                try await eventually { try site.column(states) == ["cancelled requested 1"] }
                worker.send(SIGTERM)
                #expect(try await worker.end.status == .exited(0))
                #expect(try site.column("SELECT outcome FROM penstock_attempts") == [])
            }
        }

        /// A worker that is stopped hears nothing, and then is killed. Nobody works its message again.
        @Test func aKilledWorkersMessageIsCancelled() async throws {
            try await withWorker { site, worker, lines in
                worker.send(SIGSTOP)
                try await site.succeed(["cancel", "1", "--within", "1h"])
                #expect(try site.column(states) == ["leased  1"])
                #expect(try site.column("SELECT sequence || ' ' || seconds FROM penstock_cancels") == ["1 3600.0"])
                worker.send(SIGKILL)
                #expect(try await worker.end.status == .signaled(SIGKILL))
                #expect(try await site.succeed(["work", "q", "--drain", "--", "cat"]).output == "")
                #expect(try site.column(states) == ["cancelled requested 1"])
                #expect(try site.column("SELECT outcome FROM penstock_attempts") == ["workerDied"])
                #expect(try site.number("SELECT count(*) FROM penstock_cancel") == 0)
            }
        }

        /// The time of a worker that is stopped passes all the same, and what it says later changes nothing.
        @Test func aStoppedWorkersMessageIsCancelledWhenItsTimeIsOver() async throws {
            try await withWorker { site, worker, lines in
                let other = try await site.start(["work", "q", "--", "cat"])
                worker.send(SIGSTOP)
                try await site.succeed(["cancel", "1", "--within", "200ms"])
                try await eventually { try site.column(states) == ["cancelled requested 1"] }
                worker.send(SIGTERM)
                worker.send(SIGCONT)
                #expect(try await worker.end.status == .exited(0))
                #expect(try site.column(states) == ["cancelled requested 1"])
                #expect(try site.column("SELECT outcome FROM penstock_attempts") == ["leaseExpired"])
                #expect(try site.number("SELECT cancelled_total FROM penstock_queues") == 1)
                other.send(SIGTERM)
                #expect(try await other.end.output == "")
            }
        }
    }
}
