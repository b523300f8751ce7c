#if os(Linux)
    import Foundation
    import Subprocess
    import Testing

    extension Faults {
        /// Processes of one machine that do not read the same clock, or do not know which one they read.
        @Suite struct OtherClockTests {
            /// Where a process may run that cannot tell when the leases of others end.
            enum Sandbox: String, CaseIterable, CustomTestStringConvertible {
                case hiddenBootID, hiddenSettings, timeNamespace

                var testDescription: String { rawValue }

                /// What runs a program in it.
                var prefix: [String] {
                    switch self {
                    case .hiddenBootID: Self.mounting("mount -t tmpfs none /proc/sys/kernel/random")
                    case .hiddenSettings: Self.mounting("mount -t proc -o subset=pid none /proc")
                    case .timeNamespace: ["--time", "--fork", "--boottime", "1000000"]
                    }
                }

                private static func mounting(_ mount: String) -> [String] {
                    ["--mount", "--propagation", "private", "sh", "-c", mount + #" && exec "$@""#, "sh"]
                }
            }

            private static func unshare() async throws -> FilePath {
                try await Executable.name("unshare").resolveExecutablePath(in: .inherit)
            }

            /// Runs `penstock` in `sandbox` to its end.
            private func run(_ arguments: [String], in sandbox: Sandbox, at site: Site) async throws -> Child.End {
                try await site.start(
                    Self.unshare(), sandbox.prefix + [Site.program.string] + arguments, input: nil, output: nil
                ).end
            }

            private func isAllowed(_ sandbox: Sandbox, at site: Site) async throws -> Bool {
                guard let unshare = try? await Self.unshare() else { return false }
                return try await site.start(unshare, sandbox.prefix + ["true"], input: nil, output: nil).end.status
                    == .exited(0)
            }

            @Test(arguments: Sandbox.allCases)
            func whoCannotTellTheTimeTakesNothingFromTheLiving(_ sandbox: Sandbox) async throws {
                try await Site.use { site in
                    guard try await isAllowed(sandbox, at: site) else {
                        // Namespaces need root, or a kernel that lets others make them.
                        try Test.cancel("No such sandbox can be made here: \(sandbox).")
                    }
                    let gate = try Gate(site)
                    let lines = try Lines()
                    try await site.succeed(["queue", "create", "q"])
                    try await site.succeed(["enqueue", "q", "--lines"], input: Array("a\nb\n".utf8))
                    let script = "echo began $PENSTOCK_ATTEMPT; read -r _ < \(gate.path)"
                    let worker = try await site.start(
                        ["work", "q", "--concurrency", "2", "--", "sh", "-c", script], output: lines.writeEnd)
                    try lines.closeWriteEnd()
                    #expect(try await lines.next(2) == ["began 1", "began 1"])

                    let work = ["work", "q", "--drain", "--", "sh", "-c", "echo began $PENSTOCK_ATTEMPT"]
                    let other = try await run(work, in: sandbox, at: site)
                    #expect(other.status == .exited(0), "\(other.errors)")
                    #expect(other.lines == [])
                    let doctor = try await run(["doctor"], in: sandbox, at: site)
                    #expect(doctor.status == .exited(0), "\(doctor.output)")
                    #expect(try site.column("SELECT outcome FROM penstock_attempts") == [])

                    // The kernel's word on who lives holds in each of them.
                    worker.send(SIGKILL)
                    _ = try await worker.end
                    let heir = try await run(work, in: sandbox, at: site)
                    #expect(heir.lines == ["began 2", "began 2"], "\(heir.errors)")
                    try await site.expectHealthy()
                }
            }
        }
    }
#endif
