import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Faults {
    /// Files that are no good: each command says so in one sentence, and leaves them as they are.
    @Suite struct BadFileTests {
        private static let commands = [
            ["enqueue", "q", "x"], ["work", "q", "--drain", "--", "true"], ["status"], ["queue", "create", "other"],
        ]

        @Test func aFolderIsNoFile() async throws {
            try await Site.use { site in
                try FileManager.default.createDirectory(atPath: site.file, withIntermediateDirectories: false)
                for command in Self.commands + [["migrate"], ["doctor"]] {
                    try await site.fail(command, with: 65, saying: "is a folder")
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: site.file).isEmpty)
                #expect(try FileManager.default.contentsOfDirectory(atPath: site.folder) == ["test.db"])
            }
        }

        @Test func aFileOfANewerProgramIsLeftUntouched() async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "x"])
                let insert = try await site.shell("INSERT INTO penstock_migration VALUES (999, 'later', 0);")
                #expect(insert.status == .exited(0), "\(insert.errors)")
                let before = try Data(contentsOf: URL(filePath: site.file))
                for command in Self.commands + [["migrate"]] {
                    try await site.fail(command, with: 78, saying: "schema version 999")
                }
                #expect(try Data(contentsOf: URL(filePath: site.file)) == before)
            }
        }

        /// Nobody takes such a file for one that has yet to be made, and no worker tries for ever.
        @Test(arguments: [
            "DROP TABLE penstock_migration", "DELETE FROM penstock_migration", "DROP TABLE penstock_queue",
            "DROP TABLE penstock_ready", "DROP TABLE penstock_state",
            "ALTER TABLE penstock_ready RENAME COLUMN marks TO k",
        ])
        func aFileThatHasLostAPartOfItsSchemaIsSaid(sql: String) async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "x"])
                #expect(try await site.shell("\(sql);").status == .exited(0))
                try await site.fail(["enqueue", "q", "x"], with: 65, saying: " schema")
                let worked = try await site.run(["work", "q", "--", "sh", "-c", "echo worked"])
                #expect(worked.status == .exited(65))
                #expect(worked.output == "")
                let last = worked.errors.split(separator: "\n").last ?? ""
                #expect(last.hasPrefix("penstock: ") && last.contains(" schema"), "\(worked.errors)")
                try await site.fail(["doctor", "--repair"], with: 65, saying: "restore it from a copy")
                let doctor = try await site.run(["doctor"])
                #expect(doctor.status == .exited(1))
                #expect(doctor.output.contains("\nfail  ") || doctor.output.hasPrefix("fail  "))
            }
        }

        /// As by `mv q.db elsewhere`: the messages are in the log, and nobody takes that for an old one.
        @Test func aFileThatIsGoneWithoutItsLogIsNotMadeAnew() async throws {
            try await Site.use { site in
                let log = URL(filePath: site.file + "-wal")
                let worked = try Lines()
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "w"])
                let worker = try await site.start(["work", "q", "--", "echo", "done"], output: worked.writeEnd)
                try worked.closeWriteEnd()
                #expect(try await worked.next() == "done")
                // The worker has the file open, so the log stays, and it dies with its file open.
                try await site.succeed(["enqueue", "q", "x", "--delay", "1h"])
                #expect(worker.send(SIGKILL))
                _ = try await worker.end
                #expect(rename(site.file, site.file + ".old") == 0)
                let before = try Data(contentsOf: log)
                #expect(!before.isEmpty)
                for command in Self.commands + [["migrate"], ["doctor"], ["doctor", "--repair"]] {
                    try await site.fail(command, with: 65, saying: "is missing, and its write-ahead log is left")
                }
                #expect(try Data(contentsOf: log) == before)
                #expect(rename(site.file + ".old", site.file) == 0)
                #expect(try site.column("SELECT payload FROM penstock_messages") == ["w", "x"])
                try await site.succeed(["retry", "2"])
                try await site.succeed(["work", "q", "--drain", "--", "true"])
                try await site.expectHealthy()
                withExtendedLifetime(worked) {}
            }
        }

        /// Starts a worker of a queue that has had one message, and a reader of its log. Returns when both wait for
        /// another, and what reads along with them: without that they would end.
        private func workerAndFollower(_ site: Site) async throws -> (children: [Child], outputs: [Lines]) {
            let (worked, followed) = (try Lines(), try Lines())
            try await site.succeed(["queue", "create", "q"])
            try await site.succeed(["enqueue", "q", "x"])
            let worker = try await site.start(["work", "q", "--", "echo", "done"], output: worked.writeEnd)
            let follower = try await site.start(["log", "q", "--follow"], output: followed.writeEnd)
            try worked.closeWriteEnd()
            try followed.closeWriteEnd()
            #expect(try await worked.next() == "done")
            #expect(try await followed.next() != nil)
            try await eventually { try site.number("SELECT done_total FROM penstock_queues") > 0 }
            return ([worker, follower], [worked, followed])
        }

        /// Expects that a process ends because of its file, and has `words` in its last sentence.
        private func expectItsEnd(_ child: Child, saying words: String...) async throws {
            let end = try await child.end
            #expect(end.status == .exited(65), "\(end.errors)")
            let last = end.errors.split(separator: "\n").last ?? ""
            #expect(last.hasPrefix("penstock: ") && words.allSatisfy { last.contains($0) }, "\(end.errors)")
        }

        /// As by `: > q.db` of a careless script, under a worker that waits for messages and a reader that follows the log.
        @Test func aFileThatIsCutToNothingEndsWhoeverHasItOpen() async throws {
            try await Site.use { site in
                let (children, outputs) = try await workerAndFollower(site)
                defer { withExtendedLifetime(outputs) {} }
                #expect(truncate(site.file, 0) == 0)
                // Before anybody who opens it, as the log beside it would go with the file's emptiness.
                for command in [["enqueue", "q", "y"], ["status"], ["doctor"], ["doctor", "--repair"]] {
                    try await site.fail(command, with: 65, saying: "was cut to 0 bytes")
                }
                for child in children {
                    try await expectItsEnd(child, saying: "was cut to 0 bytes")
                }
            }
        }

        /// Neither asks for all of the tables, and what is left of them says that all is well.
        @Test(arguments: ["penstock_migration", "penstock_ready", "penstock_attempt", "penstock_quarantine"])
        func aFileThatLosesATableEndsWhoeverWaits(table: String) async throws {
            try await Site.use { site in
                let (children, outputs) = try await workerAndFollower(site)
                defer { withExtendedLifetime(outputs) {} }
                #expect(try await site.shell(".timeout 5000\nDROP TABLE \(table);").status == .exited(0))
                let lost = ContinuousClock.now
                for child in children {
                    try await expectItsEnd(child, saying: " lost a part", table)
                }
                // A worker that hears of everything looks by itself once a minute.
                #expect(ContinuousClock.now - lost < .seconds(20))
            }
        }

        /// Its write-ahead log is cut as well, or has nothing in it: SQLite has other words for what it finds then.
        @Test(arguments: [true, false])
        func aFileThatIsCutWithAllThatIsInItsLogEndsWhoeverWrites(isCheckpointed: Bool) async throws {
            try await Site.use { site in
                let (worked, fed) = (try Lines(), try FileDescriptor.pipe())
                let gate = try Gate(site)
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["queue", "create", "full", "--capacity", "1", "--when-full", "wait"])
                try await site.succeed(["enqueue", "q", "x"])
                let worker = try await site.start(
                    ["work", "q", "--", "sh", "-c", "echo began; read -r _ < \(gate.path)"], output: worked.writeEnd)
                try worked.closeWriteEnd()
                #expect(try await worked.next() == "began")
                let waiting = try await site.start(
                    ["enqueue", "full", "--lines"], input: site.descriptor(of: Array("1\n2\n".utf8)))
                let reading = try await site.start(
                    ["enqueue", "other", "--create", "--lines"], input: fed.readEnd)
                try fed.writeEnd.writeAll(Array("1\n".utf8))
                for queue in ["full", "other"] {
                    try await eventually {
                        try site.number("SELECT enqueued_total FROM penstock_queues WHERE queue = ?", [queue]) == 1
                    }
                }
                if isCheckpointed {
                    let said = try await site.shell(".timeout 5000\nPRAGMA wal_checkpoint(TRUNCATE);").output
                    #expect(said == "0|0|0\n")
                }
                #expect(truncate(site.file, 0) == 0)
                #expect(truncate(site.file + "-wal", 0) == 0)
                try gate.open()
                try fed.writeEnd.writeAll(Array("2\n".utf8))
                try fed.writeEnd.close()
                for child in [worker, waiting, reading] {
                    try await expectItsEnd(child, saying: "was cut to 0 bytes while it was open")
                }
            }
        }

        /// The first page of the messages' log is overwritten.
        @Test func aDamagedPageIsNotMadeWorse() async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(
                    ["enqueue", "q", "--lines"], input: Array((1...500).map { "\($0)\n" }.joined().utf8))
                let page = try site.number("SELECT rootpage FROM sqlite_schema WHERE name = 'penstock_log'")
                let size = try site.number("PRAGMA page_size")
                let path = URL(filePath: site.file)
                var bytes = try Data(contentsOf: path)
                bytes.replaceSubrange((page - 1) * size..<page * size, with: Data(repeating: 0xAA, count: size))
                try bytes.write(to: path)

                try await site.fail(["enqueue", "q", "x"], with: 65, saying: "is damaged")
                try await site.fail(["log", "q"], with: 65, saying: "is damaged")
                let worked = try await site.run(["work", "q", "--drain", "--", "sh", "-c", "echo worked"])
                #expect(worked.status == .exited(65))
                #expect(worked.output == "")
                #expect(worked.errors.hasSuffix("run `penstock doctor` on it.\n"))
                let doctor = try await site.run(["doctor"])
                #expect(doctor.status == .exited(1))
                #expect(doctor.output.contains("fail "))
                #expect(try Data(contentsOf: path) == bytes)
            }
        }

        @Test(.enabled(if: SmallDisk.canBeMade, "Mounting a disk needs root."))
        func aReadOnlyFileIsNotWritten() async throws {
            try await Site.use { site in
                try await SmallDisk.use(mebibytes: 4, at: site) { disk in
                    try await site.succeed(["queue", "create", "q", "--db", disk.file])
                    try await site.succeed(["enqueue", "q", "x", "--db", disk.file])
                    try disk.allowWrites(false)
                    for command in Self.commands where command != ["status"] {
                        let place = command.firstIndex(of: "--") ?? command.count
                        try await site.fail(
                            command[..<place] + ["--db", disk.file] + command[place...], with: 77, saying: "cannot be")
                    }
                    // What only looks needs no more than to read.
                    try await site.succeed(["status", "--db", disk.file])
                    try disk.allowWrites(true)
                    let list = try await site.succeed(["list", "--db", disk.file])
                    #expect(list.lines.count == 2)
                }
            }
        }

        /// A producer that meets a full disk says how many lines are in line, and these are. A worker that meets one says
        /// so, loses nothing, and goes on by itself when there is room again.
        @Test(.enabled(if: SmallDisk.canBeMade, "Mounting a disk needs root."))
        func aFullDiskLosesNothing() async throws {
            try await Site.use { site in
                try await SmallDisk.use(mebibytes: 64, at: site) { disk in
                    func list(_ states: String) async throws -> [String] {
                        try await site.succeed(
                            ["list", "q", "--db", disk.file, "--state", states, "--json", "--limit", "10000"]
                        ).lines
                    }
                    try await site.succeed(["queue", "create", "q", "--db", disk.file])
                    try disk.fill(leaving: 2_000_000)
                    // So short that a batch ends by its number of lines.
                    let line = String(repeating: "x", count: 200) + "\n"
                    let input = Array(String(repeating: line, count: 20_000).utf8)
                    let produced = try await site.run(["enqueue", "q", "--lines", "--db", disk.file], input: input)
                    #expect(produced.status == .exited(74), "\(produced.output)")
                    let kept = try await list("ready").count
                    #expect(kept > 0 && kept.isMultiple(of: 4000))
                    #expect(produced.errors.contains("At line \(kept + 1): "), "\(produced.errors)")
                    #expect(produced.errors.contains("The \(kept) lines before it are enqueued and stay."))

                    try disk.empty()
                    try disk.fill(leaving: 0)
                    let worker = try await site.start(
                        ["work", "q", "--db", disk.file, "--max", "50", "--", "sh", "-c", "echo worked"])
                    await worker.waitUntilItSays("No room is left on the disk")
                    try disk.empty()
                    let worked = try await worker.end
                    #expect(worked.status == .exited(0), "\(worked.errors)")
                    #expect(worked.lines.count == 50)
                    #expect(worked.errors.contains("No room is left on the disk"))

                    let rest = try await site.succeed(
                        ["work", "q", "--db", disk.file, "--drain", "--concurrency", "4", "--", "true"])
                    #expect(rest.errors == "")
                    #expect(try await list("done").count == kept)
                    let doctor = try await site.run(["doctor", "--db", disk.file])
                    #expect(doctor.status == .exited(0), "\(doctor.output)")
                }
            }
        }
    }
}
