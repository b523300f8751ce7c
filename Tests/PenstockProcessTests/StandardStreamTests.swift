import Foundation
import PenstockTestKit
import Subprocess
import Testing

extension Faults {
    /// What comes in and what goes out: any bytes, and streams that are closed.
    @Suite struct StandardStreamTests {
        /// Lines of any bytes come out of the commands' standard input as they went into the producer's.
        @Test func linesThatAreNoTextReachTheCommandByteForByte() async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    let lines = (1...60).map { _ in
                        (0..<random.next(in: 0...200)).map { _ in Self.byte(random) }
                    }
                    try await site.succeed(["queue", "create", "q"])
                    try await site.succeed(
                        ["enqueue", "q", "--lines"], input: lines.flatMap { $0 + [0x0A] })
                    try await site.succeed(
                        [
                            "work", "q", "--drain", "--concurrency", "3", "--", "sh", "-c",
                            "cat > payload-$PENSTOCK_SEQUENCE",
                        ])
                    for (index, line) in lines.enumerated() {
                        let payload = try Data(contentsOf: URL(filePath: "\(site.folder)/payload-\(index + 1)"))
                        #expect([UInt8](payload) == line, Proofs.repeatable)
                    }
                }
            }
        }

        /// Any byte but a line's end, and often one that is special somewhere.
        private static func byte(_ random: SeededRandom) -> UInt8 {
            let special: [UInt8] = [0x00, 0x0D, 0xFF, 0xC3, 0x80, 0x27]
            return random.pick(special + [UInt8(random.next(in: 0x0B...0xFE))]) ?? 0
        }

        private func shell(_ site: Site, _ script: String) async throws -> Child.End {
            try await site.start(
                FilePath("/bin/sh"), ["-c", script, "\(Site.program)"], input: nil, output: nil
            ).end
        }

        @Test(arguments: ["", "--lines"])
        func aClosedInputIsNoEmptyPayload(option: String) async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                let end = try await shell(site, "exec \"$0\" enqueue q \(option) <&-")
                #expect(end.status == .exited(74))
                #expect(end.errors.hasPrefix("penstock: Standard input cannot be read: Bad file descriptor"))
                #expect(try site.number("SELECT enqueued_total FROM penstock_queues") == 0)
            }
        }

        /// A worker whose standard error nobody reads any more stops all the same.
        @Test(arguments: ["echo begun", "echo begun; yes >&2"])
        func aWorkerStopsThoughNobodyReadsItsErrors(script: String) async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "x"])
                let lines = try Lines()
                // The pipe is full before the worker begins, and its only reader is the worker itself, which does not read. Its
                // first standard error stays open: the test takes the end of that for the end of the process.
                let worker = try await site.start(
                    FilePath("/bin/sh"),
                    [
                        "-c",
                        "mkfifo errors; exec 3<>errors 4>&2; head -c 65536 /dev/zero >&3; "
                            + "exec \"$0\" work q --grace 100ms -- sh -c '\(script)' 2>&3", "\(Site.program)",
                    ], input: nil, output: lines.writeEnd)
                try lines.closeWriteEnd()
                #expect(try await lines.next() == "begun")
                let isIdle = script == "echo begun"
                if isIdle {
                    try await eventually { try site.column("SELECT state FROM penstock_messages") == ["done"] }
                }
                worker.send(SIGTERM)
                #expect(try await worker.end.status == .exited(0))
                #expect(try site.column("SELECT state FROM penstock_messages") == [isIdle ? "done" : "ready"])
            }
        }

        /// Whatever is opened in the place of a closed descriptor, nothing goes into it: neither into the files of the
        /// store nor into what the runtime holds open.
        @Test func nothingIsWrittenInThePlaceOfClosedOutput() async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                for number in 1...5 {
                    let end = try await shell(site, "exec \"$0\" enqueue q \(number) <&- >&- 2>&-")
                    // The message is in line, so the status does not ask for another try.
                    #expect(end.status == .exited(76))
                }
                let worked = try await shell(site, "exec \"$0\" work q --max 3 -- true <&- >&- 2>&-")
                #expect(worked.status == .exited(0))
                let failed = try await shell(
                    site, "exec \"$0\" work q --max 2 -- sh -c 'echo x; echo y >&2; exit 1' <&- >&- 2>&-")
                #expect(failed.status == .exited(0))
                #expect(
                    try site.column("SELECT state FROM penstock_messages") == [
                        "done", "done", "done", "scheduled", "scheduled",
                    ])
                // Two of these files are memory that processes share, and hold numbers, as does one more; the others hold nothing.
                let side = "\(site.file)-penstock"
                for name in try FileManager.default.contentsOfDirectory(atPath: side) {
                    let bytes = try Data(contentsOf: URL(filePath: "\(side)/\(name)"))
                    if name.hasPrefix("doorbell-") || name.hasPrefix("writers-") {
                        // It begins with its layout's name and its size.
                        let header = "penstock \(name) \(bytes.count)"
                        #expect(bytes.starts(with: header.utf8))
                        let words = bytes.dropFirst(header.utf8.count).split { !(32..<127).contains($0) }
                        #expect(words.allSatisfy { $0.count < 6 }, "\(name)")
                    } else if name == "log-owner" {
                        let isOfNumbers = bytes.allSatisfy { (48...57).contains($0) || $0 == 32 || $0 == 10 }
                        #expect(bytes.count == 96 && isOfNumbers, "\(String(decoding: bytes, as: UTF8.self))")
                    } else {
                        #expect(bytes.isEmpty, "\(name)")
                    }
                }
                try await site.expectHealthy()
            }
        }

        /// A service may be started without standard streams. What its commands write is nobody's, and no fault of theirs.
        @Test(arguments: [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
        func noMessageFailsForTheWorkersOwnClosedStreams(closed: String) async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n3\n".utf8))
                let script = "cat >> payloads && echo written && echo written >&2"
                let worked = try await shell(site, "exec \"$0\" work q --drain -- sh -c '\(script)' \(closed)")
                #expect(worked.status == .exited(0))
                #expect(
                    worked.lines
                        == (closed.contains(">&-") && !closed.hasPrefix("2") ? [] : ["written", "written", "written"]))
                #expect(try site.column("SELECT state FROM penstock_messages") == ["done", "done", "done"])
                #expect(try site.number("SELECT count(*) FROM penstock_attempts") == 0)
                #expect(try String(contentsOfFile: "\(site.folder)/payloads", encoding: .utf8) == "123")
            }
        }

        /// A reader of the first lines only is no reason for an error: the program ends as others do, by SIGPIPE.
        @Test(arguments: [
            "log q", "list q --limit 10000", "log q --json", "status --watch --interval 10ms", "show 1 2 3",
        ])
        func aReaderThatHasSeenEnoughIsNoError(command: String) async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(
                    ["enqueue", "q", "--lines"], input: Array((1...5000).map { "line \($0)\n" }.joined().utf8))
                let end = try await shell(site, "{ \"$0\" \(command); echo $? > status; } | head -n 1")
                #expect(end.lines.count == 1)
                #expect(end.errors == "")
                let status = try String(contentsOfFile: "\(site.folder)/status", encoding: .utf8)
                #expect(["141\n", "0\n"].contains(status))
            }
        }

        /// Nothing more may come for long, and services often start programs with SIGPIPE ignored.
        @Test(arguments: [("", "141\n"), ("trap '' PIPE; ", "74\n")])
        func whoFollowsALogForNobodyEnds(before: String, status: String) async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "x"])
                let end = try await shell(
                    site, "{ \(before)\"$0\" log q --follow; echo $? > status; } | head -n 1")
                #expect(end.lines.count == 1)
                #expect(try String(contentsOfFile: "\(site.folder)/status", encoding: .utf8) == status)
            }
        }

        /// Commands that write to a reader who has seen enough fail one after the other: the worker stops, and no message
        /// has lost an attempt.
        @Test func aWorkerStopsWhenNobodyReadsWhatItsCommandsWrite() async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(
                    ["enqueue", "q", "--lines"], input: Array((1...5000).map { "\($0)\n" }.joined().utf8))
                let work = "work q --concurrency 2 --drain -- sh -c 'echo x'"
                let end = try await shell(site, "{ \"$0\" \(work); echo $? > status; } | head -n 1")
                #expect(end.lines == ["x"])
                #expect(
                    end.errors.hasPrefix("penstock: Nobody reads the commands' standard output any more"),
                    "\(end.errors)")
                #expect(try String(contentsOfFile: "\(site.folder)/status", encoding: .utf8) == "74\n")
                #expect(try site.number("SELECT count(*) FROM penstock_attempts") == 0)
                #expect(try site.number("SELECT ready FROM penstock_queues") > 4000)
                try await site.expectHealthy()
            }
        }

        /// Nothing is said, and nothing is left behind, when somebody has seen enough.
        @Test(arguments: [["status", "--watch"], ["log", "q", "--follow"]])
        func interruptingWhoOnlyLooksIsNoError(command: [String]) async throws {
            try await Site.use { site in
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "x"])
                let lines = try Lines()
                let looking = try await site.start(command, output: lines.writeEnd)
                try lines.closeWriteEnd()
                #expect(try await lines.next() != nil)
                looking.send(SIGINT)
                let end = try await looking.end
                #expect(end.status == .signaled(SIGINT))
                #expect(end.errors == "")
                try await site.expectHealthy()
            }
        }
    }
}
