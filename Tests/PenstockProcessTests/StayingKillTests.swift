import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// Processes that stay, whose worker is killed.
    @Suite struct StayingKillTests {
        /// The process ends with its worker, and another worker's process gets the message.
        @Test func aKilledWorkersProcessEndsAndItsMessageGoesOn() async throws {
            try await Site.use { site in
                let path = "\(site.folder)/held"
                #expect(mkfifo(path, 0o600) == 0)
                let held = try FileDescriptor.open(FilePath(path), .readOnly, options: .nonBlocking)
                defer { try? held.close() }
                try await site.succeed(["queue", "create", "q", "--retry-base", "0"])
                try await site.succeed(["enqueue", "q", "x"])
                let script = "exec 3>held; while read -r line; do echo $line >&3; sleep 1000; done"
                let worker = try await site.start(["work", "q", "--lines", "--", "sh", "-c", script])
                try await eventually { says(held, Int16(POLLIN)) }
                worker.send(SIGKILL)
                #expect(try await worker.end.status == .signaled(SIGKILL))
                // Nobody has the pipe open any more: neither the process nor what it has started.
                try await eventually { says(held, Int16(POLLHUP)) }
                let other = try await site.succeed(["work", "q", "--lines", "--max", "1", "--", "cat"])
                #expect(other.output == "x\n")
                #expect(try site.column("SELECT outcome FROM penstock_attempts") == ["workerDied"])
                #expect(try site.column("SELECT state || ' ' || attempt FROM penstock_messages") == ["done 2"])
                try await site.expectHealthy()
            }
        }
    }
}

extension Proofs.StayingKillTests {
    /// Whether the kernel says one of `events` of the pipe.
    private func says(_ pipe: FileDescriptor, _ events: Int16) -> Bool {
        var request = pollfd(fd: pipe.rawValue, events: events, revents: 0)
        return poll(&request, 1, 0) > 0 && request.revents & events != 0
    }
}
