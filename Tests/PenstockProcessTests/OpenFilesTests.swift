import Subprocess
import Testing

extension Faults {
    /// A worker that could run into the bound on open files with all its commands is told so, or given room, before
    /// it claims anything.
    @Suite struct OpenFilesTests {
        private func work(_ site: Site, soft: Int, hard: Int, concurrency: Int) async throws -> Child.End {
            let script = "ulimit -Sn \(soft) && ulimit -Hn \(hard) && exec \"$0\" \"$@\""
            let work = ["work", "q", "--drain", "--concurrency", "\(concurrency)", "--", "sh", "-c", "echo x"]
            return try await site.start(
                FilePath("/bin/sh"), ["-c", script, "\(Site.program)"] + work, input: nil, output: nil
            ).end
        }

        /// However low the bound is, the answer is one, or a sentence; never a trap of the runtime.
        @Test(arguments: [5, 8, 16, 31]) func aLowBoundIsRaisedOrSaid(bound: Int) async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                for command in ["status", "enqueue q x"] {
                    for (limit, status) in [("-Hn", Int32(75)), ("-Sn", 0)] {
                        let script = "ulimit -Sn \(bound) && ulimit \(limit) \(bound) && exec \"$0\" \(command)"
                        let end = try await site.start(
                            FilePath("/bin/sh"), ["-c", script, "\(Site.program)"], input: nil, output: nil
                        ).end
                        #expect(end.status == .exited(status), "\(command): \(end.errors)")
                        #expect(end.errors.contains("ulimit -n") == (status != 0))
                    }
                }
            }
        }

        /// A parent that does not close its own files leaves them to what it starts.
        @Test(arguments: [30, 40, 60, 62]) func inheritedFilesAreMadeRoomForOrSaid(last: Int) async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                for (limit, status) in [("-n", Int32(75)), ("-Sn", 0)] {
                    let script =
                        "ulimit \(limit) 64 && for n in $(seq 3 \(last)); do eval \"exec $n</dev/null\"; done; exec \"$0\" enqueue q x"
                    let end = try await site.start(
                        FilePath("/bin/bash"), ["-c", script, "\(Site.program)"], input: nil, output: nil
                    ).end
                    // Of 64 places 29 are left with the last of these at 34.
                    let isRefused = status != 0 && last > 34
                    #expect(end.status == .exited(isRefused ? status : 0), "\(limit): \(end.errors)")
                    #expect(end.errors.contains("ulimit -n") == isRefused, "\(end.errors)")
                }
            }
        }

        /// What it was started with takes places of its commands.
        @Test func aWorkerMakesRoomBesideWhatItWasStartedWith() async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                // One command takes 72 places with all that is open besides, and 20 files were open before.
                for (bound, status) in [(91, Int32(64)), (92, 0)] {
                    let script =
                        "ulimit -n \(bound) && for n in $(seq 3 22); do eval \"exec $n</dev/null\"; done; exec \"$0\" work q --drain -- true"
                    let end = try await site.start(
                        FilePath("/bin/bash"), ["-c", script, "\(Site.program)"], input: nil, output: nil
                    ).end
                    #expect(end.status == .exited(status), "\(end.errors)")
                    #expect(end.errors.contains("--concurrency 1 may take 92 open files") == (status != 0))
                }
            }
        }

        @Test func aWorkerMakesRoomForItsCommands() async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(
                    ["enqueue", "q", "--lines"], input: Array((1...200).map { "\($0)\n" }.joined().utf8))
                let refused = try await work(site, soft: 40, hard: 240, concurrency: 30)
                #expect(refused.status == .exited(64))
                #expect(refused.errors.hasPrefix("penstock: --concurrency 30 may take "), "\(refused.errors)")
                #expect(try site.number("SELECT sum(attempt) FROM penstock_messages") == 0)

                let worked = try await work(site, soft: 40, hard: 400, concurrency: 30)
                #expect(worked.status == .exited(0))
                #expect(worked.errors == "")
                #expect(worked.lines.count == 200)
                #expect(try site.number("SELECT done_total FROM penstock_queues") == 200)
                try await site.expectHealthy()
            }
        }
    }
}
