import Foundation
import PenstockTestKit
import Subprocess
import Testing

extension Faults {
    /// Another process is stopped while it holds the file: nobody waits for it who does not have to.
    @Suite struct StoppedWriterTests {
        /// A call that waits for the stopped process takes at least this long.
        private static let atOnce = Duration.seconds(20)

        @Test func whoeverLooksIsAnswered() async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "first"])
                let writer = try await StoppedWriter(site)
                for look in [
                    ["status"], ["list", "--limit", "1"], ["show", "1"], ["log", "q", "--last", "1"],
                    ["queue", "list"],
                    ["queue", "show", "q"], ["dead", "list"], ["replay", "q", "--last", "1", "--dry-run"], ["doctor"],
                ] {
                    try await site.succeed(look)
                }
                try await writer.kill()
                try await site.expectHealthy()
            }
        }

        /// Starts a worker, and returns when it has worked its one message and waits for others.
        private func idleWorker(_ site: Site) async throws -> Child {
            let lines = try Lines()
            try await site.succeed(["queue", "create", "q"])
            try await site.succeed(["enqueue", "--create", "idle", "x"])
            let worker = try await site.start(["work", "idle", "--", "echo", "done"], output: lines.writeEnd)
            try lines.closeWriteEnd()
            #expect(try await lines.next() == "done")
            try await eventually {
                try site.number("SELECT done_total FROM penstock_queues WHERE queue = 'idle'") > 0
            }
            return worker
        }

        /// It does not wait for anything, and says nothing of commands that were killed, as none was.
        @Test func anIdleWorkerEndsAtOnceAtTheSecondSignal() async throws {
            // After three seconds it would give up on what it had in its hands.
            let waits = try await measured(atMost: 5, until: { $0 < .milliseconds(2900) }) { _ in
                try await endOfAnIdleWorker()
            }
            #expect(try #require(waits.last) < .milliseconds(2900), "from the second signal to the end: \(waits)")
        }

        /// - Returns: the time from the second signal to the worker's end.
        private func endOfAnIdleWorker() async throws -> Duration {
            var wait = Duration.zero
            try await Site.use { site in
                let worker = try await idleWorker(site)
                let writer = try await StoppedWriter(site)
                worker.send(SIGTERM)
                await worker.waitUntilItSays("Stopping")
                let began = ContinuousClock.now
                worker.send(SIGTERM)
                let end = try await worker.end
                #expect(end.status == .exited(0))
                wait = ContinuousClock.now - began
                #expect(end.errors == "penstock: Stopping; no command runs.\n")
                try await writer.kill()
                try await site.succeed(["work", "idle", "--drain", "--", "true"])
                try await site.expectHealthy()
            }
            return wait
        }

        /// A worker with nothing in its hands has nothing to give back.
        @Test func anIdleWorkerEndsAtTheFirstSignal() async throws {
            try await Site.use { site in
                let worker = try await idleWorker(site)
                let writer = try await StoppedWriter(site)
                let began = ContinuousClock.now
                worker.send(SIGTERM)
                let end = try await worker.end
                #expect(end.status == .exited(0), "\(end.errors)")
                #expect(ContinuousClock.now - began < Self.atOnce)
                try await writer.kill()
                // Its row is left for the next one to tidy up.
                try await site.succeed(["enqueue", "idle", "y"])
                try await site.succeed(["work", "idle", "--drain", "--", "true"])
                #expect(try site.number("SELECT count(*) FROM penstock_workers") == 0)
                try await site.expectHealthy()
            }
        }

        /// Starts a worker, and returns when it works its one message.
        private func busyWorker(_ site: Site, _ options: [String] = []) async throws -> (worker: Child, lines: Lines) {
            let lines = try Lines()
            try await site.succeed(["queue", "create", "q"])
            try await site.succeed(["enqueue", "--create", "busy", "x"])
            let worker = try await site.start(
                ["work", "busy"] + options + ["--", "sh", "-c", "echo began; exec sleep 1000"], output: lines.writeEnd)
            try lines.closeWriteEnd()
            #expect(try await lines.next() == "began")
            return (worker, lines)
        }

        /// The worker has ended, and its command with it; the next one gets its message.
        private func expectItsMessageIsBack(_ site: Site, _ lines: Lines, _ writer: StoppedWriter) async throws {
            #expect(try await lines.next() == nil, "Its command has ended with it.")
            try await writer.kill()
            let next = try await site.succeed([
                "work", "busy", "--drain", "--", "sh", "-c", "echo $PENSTOCK_SEQUENCE",
            ])
            #expect(next.output == "1\n")
            try await site.expectHealthy()
        }

        /// After its grace it waits for the file no longer than after a second signal.
        @Test func aBusyWorkerEndsAfterItsGrace() async throws {
            try await Site.use { site in
                let (worker, lines) = try await busyWorker(site, ["--grace", "100ms"])
                let writer = try await StoppedWriter(site)
                let began = ContinuousClock.now
                worker.send(SIGTERM)
                let end = try await worker.end
                #expect(end.status == .exited(75), "\(end.errors)")
                #expect(
                    end.errors.hasSuffix("so they come back when it is seen that this worker is gone.\n"),
                    "\(end.errors)")
                #expect(end.errors.count { $0 == "\n" } == 2, "\(end.errors)")
                #expect(ContinuousClock.now - began < Self.atOnce)
                try await expectItsMessageIsBack(site, lines, writer)
            }
        }

        /// It has a message that it cannot give back now. The second signal ends it all the same, and the kernel then says
        /// that it is gone.
        @Test func aBusyWorkerEndsAtTheSecondSignal() async throws {
            try await Site.use { site in
                let (worker, lines) = try await busyWorker(site)
                let writer = try await StoppedWriter(site)
                let began = ContinuousClock.now
                worker.send(SIGTERM)
                await worker.waitUntilItSays("Stopping")
                worker.send(SIGINT)
                let end = try await worker.end
                #expect(end.status == .exited(143) || end.status == .exited(130), "\(end.errors)")
                #expect(ContinuousClock.now - began < Self.atOnce)
                try await expectItsMessageIsBack(site, lines, writer)
            }
        }
    }
}
