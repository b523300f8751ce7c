import Foundation
import Subprocess
import Testing

extension Faults {
    /// Where the system gives no threads, processes or descriptors, the program says so or waits for them, and loses
    /// nothing.
    @Suite(.enabled(if: getuid() == 0, "Bounds of another user are set by root.")) struct ShortageTests {
        /// A user that nobody else is: the bound counts all of a user's processes and threads.
        private static let user: UInt32 = 64_731

        /// Runs `penstock` as that user, with a bound on its processes and threads.
        private func run(_ site: Site, bound: Int, _ command: String) async throws -> Child.End {
            return try await site.start(
                FilePath("/usr/bin/setpriv"),
                [
                    "--reuid=\(Self.user)", "--regid=\(Self.user)", "--clear-groups", "/usr/bin/prlimit",
                    "--nproc=\(bound)", "\(Site.program)",
                ] + command.split(separator: " ").map(String.init), input: nil, output: nil
            ).end
        }

        /// However few there may be, the answer is one, or a sentence; never a trap of the runtime, and never none.
        @Test(arguments: [1, 2, 4, 8, 12, 14, 15, 16, 17, 18, 20, 24, 32])
        func aBoundOnThreadsIsSaid(bound: Int) async throws {
            try await Site.use { site in
                chmod(site.folder, 0o777)
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "first"])
                for name in try FileManager.default.contentsOfDirectory(atPath: site.folder) {
                    chown("\(site.folder)/\(name)", Self.user, Self.user)
                }
                chown("\(site.file)-penstock", Self.user, Self.user)
                for name in try FileManager.default.contentsOfDirectory(atPath: "\(site.file)-penstock") {
                    chown("\(site.file)-penstock/\(name)", Self.user, Self.user)
                }
                for command in [
                    "status", "enqueue q x", "work q --drain --concurrency 4 -- sh -c cat", "work q --drain -- true",
                    "doctor",
                ] {
                    let end = try await run(site, bound: bound, command)
                    #expect([.exited(0), .exited(75)].contains(end.status), "\(command): \(end.status) \(end.errors)")
                    #expect(
                        end.status == .exited(0) || end.errors.contains("`ulimit -u`"), "\(command): \(end.errors)")
                    #expect(end.status == .exited(75) || bound > 4, "\(command)")
                }
                let states = try site.column("SELECT DISTINCT state FROM penstock_messages")
                #expect(Set(states).isSubset(of: ["ready", "done"]))
                try await site.expectHealthy()
            }
        }

        private func setBound(_ site: Site, _ worker: Child, _ bound: Int) async throws {
            let set = try await site.start(
                FilePath("/usr/bin/prlimit"), ["--pid", "\(worker.id)", "--nofile=\(bound):"], input: nil, output: nil
            ).end
            #expect(set.status == .exited(0), "\(set.errors)")
        }

        /// A worker whose bound on open files falls while it works tells it, waits, and goes on when it may.
        @Test(arguments: [(1, 8), (1, 60), (4, 60), (20, 180)])
        func aWorkerWaitsForDescriptors(concurrency: Int, bound: Int) async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(
                    ["enqueue", "q", "--lines"], input: Array((1...60).map { "\($0)\n" }.joined().utf8))
                let gate = try Gate(site)
                let lines = try Lines()
                let worker = try await site.start(
                    [
                        "work", "q", "--drain", "--concurrency", "\(concurrency)", "--", "sh", "-c",
                        "read -r line || true; echo \"$line\"; read -r _ <'\(gate.path)'",
                    ],
                    output: lines.writeEnd)
                try lines.closeWriteEnd()
                // As many as may have begun, so none is being started when the bound falls.
                var worked = Set(try await lines.next(concurrency))
                try await setBound(site, worker, bound)
                try gate.open(for: 60)
                await worker.waitUntilItSays("cannot be started now")
                try await setBound(site, worker, 1024)
                let rest = try await lines.rest()
                #expect(worked.count + rest.count == 60)
                worked.formUnion(rest)
                #expect(worked == Set((1...60).map(String.init)))
                let end = try await worker.end
                #expect(end.status == .exited(0), "\(end.errors)")
                #expect(end.errors.contains("Too many open files"), "\(end.errors)")
                #expect(try site.number("SELECT count(*) FROM penstock_messages WHERE state = 'done'") == 60)
                #expect(try site.number("SELECT max(attempt) FROM penstock_messages") == 1, "No attempt was lost.")
                try await site.expectHealthy()
            }
        }

        /// While it waits for descriptors it can still be told to stop, and gives back what it has.
        @Test func aWorkerThatWaitsForDescriptorsStops() async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n3\n".utf8))
                let gate = try Gate(site)
                let lines = try Lines()
                let worker = try await site.start(
                    ["work", "q", "--grace", "100ms", "--", "sh", "-c", "echo begun; read -r _ <'\(gate.path)'"],
                    output: lines.writeEnd)
                try lines.closeWriteEnd()
                #expect(try await lines.next() == "begun")
                try await setBound(site, worker, 8)
                try gate.open()
                await worker.waitUntilItSays("cannot be started now")
                worker.send(SIGTERM)
                let end = try await worker.end
                #expect(end.status == .exited(0), "\(end.errors)")
                #expect(try site.number("SELECT count(*) FROM penstock_messages WHERE state = 'ready'") == 2)
                #expect(try site.number("SELECT sum(attempt) FROM penstock_messages WHERE state = 'ready'") == 0)
            }
        }
    }
}
