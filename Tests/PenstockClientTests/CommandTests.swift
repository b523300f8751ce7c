import Foundation
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

/// `penstock --db` with the address of a server: the same commands, the same answers, the same statuses.
@Suite(.timeLimit(.minutes(5))) struct CommandTests {
    @Test func commandsWorkAtAServer() async throws {
        let folder = TemporaryFolder()
        let socket = folder.file("s")
        let store = try await PenstockStore.open(path: folder.file("queue.db"))
        let server = try await TestServer.start(store, at: .unix(path: socket))
        let there = "unix:\(socket)"

        #expect(try await run(["queue", "create", "mail"], there) == "Queue mail created.\n")
        #expect(try await run(["enqueue", "mail", "hello"], there) == "1\n")
        #expect(try await run(["--db=\(there)", "list", "mail"], "elsewhere.db").contains("hello"))
        let worked = try await run(
            ["work", "mail", "--drain", "--", "sh", "-c", "cat; echo \" in $PENSTOCK_DB\""], there)
        #expect(worked == "hello in \(there)\n")
        #expect(try await store.queue("mail").status().totals.done == 1)

        let other = try await PenstockStore.open(path: folder.file("other.db"))
        try await store.copy(to: other, StoreCopy(source: "queue.db", target: "other.db"))
        let moved = "The queues have moved to other.db: nothing is taken or given here"
        for command in [["status"], ["queue", "list"], ["why", "1"]] {
            #expect(try await run(command, there).hasPrefix("\(moved).\n"), "\(command)")
        }
        #expect(try await end(["check", "--all"], there, isSilent: true) == 2)
        #expect(try await end(["check", "--server", there], there, isSilent: true) == 2)
        try await other.close()

        await server.stop()
        try await store.close()
        #expect(try await end(["enqueue", "mail", "x"], there) == 69)
        for command in [["doctor"], ["backup", "b.db"], ["restore", "b.db"], ["migrate"], ["serve"]] {
            #expect(try await end(command, there) == 64, "\(command) needs the file itself.")
        }
    }

    /// A command that follows a log, watches the queues, or waits for what a message gives, goes on when the server does, and has left
    /// nothing out.
    @Test func followersOutliveTheServer() async throws {
        let folder = TemporaryFolder()
        let socket = folder.file("s")
        let store = try await PenstockStore.open(path: folder.file("queue.db"))
        let mail = try await store.queue("mail", of: String.self)
        let server = try await TestServer.start(store, at: .unix(path: socket))
        let there = "unix:\(socket)"
        let (lines, words) = AsyncStream.makeStream(of: String.self)
        // Both end with this test.
        async let _ = Self.follow(["log", "mail", "--follow"], there, telling: words)
        async let _ = Self.follow(["status", "--watch", "--interval", "10ms"], there, telling: words)
        let asked = try await store.queue("asked")
        async let _ = Self.follow(["enqueue", "asked", "question", "--wait"], there, telling: words)
        for try await _ in asked.log(follow: true) { break }
        var iterator = lines.makeAsyncIterator()
        /// Returns once all of these were told, in whatever order.
        func told(_ wanted: (command: String, words: String)...) async {
            var left = wanted
            while !left.isEmpty, let line = await iterator.next() {
                left.removeAll { line.hasPrefix("\($0.command): ") && line.contains($0.words) }
            }
        }

        try await mail.enqueue("first")
        await told(("log", "first"), ("status", "mail "))
        await server.stop()
        await told(("status", "Trying again"))
        try await mail.enqueue("second")
        let next = try await TestServer.start(store, at: .unix(path: socket))
        await told(("log", "second"), ("status", "The store answers again."))
        try await mail.enqueue("third")
        await told(("log", "third"))
        try await Worker(asked, options: .init(max: 1)) { try await $0.done(result: "answer") }.run()
        await told(("enqueue", "answer"))
        await next.stop()
        try await store.close()
    }

    /// Runs a command until the task is cancelled, and tells each line that it writes, with the command's name.
    private static func follow(
        _ arguments: [String], _ db: String, telling words: AsyncStream<String>.Continuation
    ) async throws {
        _ = try await Subprocess.run(
            .path("/bin/sh"),
            arguments: Arguments(["-c", "exec \"$0\" \"$@\" 2>&1", BuiltPrograms.path("penstock")] + arguments),
            environment: .inherit.updating(["PENSTOCK_DB": db]), input: .none, output: .sequence, error: .discarded
        ) { execution in
            for try await line in execution.standardOutput.strings() { words.yield("\(arguments[0]): \(line)") }
        }
    }

    /// To wait for what a message gives is to look at its queue: a token that may not is refused while nothing is in line.
    @Test func nothingIsInLineOfWhoMayNotWaitForIt() async throws {
        let folder = TemporaryFolder()
        let socket = folder.file("s")
        let store = try await PenstockStore.open(path: folder.file("queue.db"))
        let mail = try await store.queue("mail", of: String.self)
        let tokens = try Tokens("in 0123456789abcdef-in produce mail\nboth 0123456789abcdef-both produce,read mail")
        let server = try await TestServer.start(store, at: .unix(path: socket), tokens: tokens)
        let there = "unix:\(socket)"
        let wait = ["enqueue", "mail", "x", "--wait", "--timeout", "0s"]
        #expect(try await end(wait, there, token: "0123456789abcdef-in") == 77)
        #expect(try await mail.status().totals.enqueued == 0)
        #expect(try await end(wait, there, token: "0123456789abcdef-both") == 75)
        #expect(try await mail.status().totals.enqueued == 1)
        await server.stop()
        try await store.close()
    }

    /// Workers are of all queues, and none is told to it: that none lives is not known.
    @Test func aTokenForSomeQueuesCannotCountWorkers() async throws {
        let folder = TemporaryFolder()
        let socket = folder.file("s")
        let store = try await PenstockStore.open(path: folder.file("queue.db"))
        _ = try await store.queue("mail")
        let tokens = try Tokens("some 0123456789abcdef-some read mail\nall 0123456789abcdef-all read")
        let server = try await TestServer.start(store, at: .unix(path: socket), tokens: tokens)
        let (there, check) = ("unix:\(socket)", ["check", "mail", "--min-workers", "1"])
        #expect(try await end(check, there, token: "0123456789abcdef-some") == 3)
        #expect(try await end(["check", "mail"], there, token: "0123456789abcdef-some", isSilent: true) == 0)
        #expect(try await end(check, there, token: "0123456789abcdef-all", isSilent: true) == 2)
        await server.stop()
        try await store.close()
    }

    private func run(_ arguments: [String], _ db: String) async throws -> String {
        let result = try await Subprocess.run(
            .path(FilePath(BuiltPrograms.path("penstock"))), arguments: Arguments(arguments),
            environment: .inherit.updating(["PENSTOCK_DB": db]), output: .string(limit: 65_536),
            error: .string(limit: 65_536))
        #expect(result.terminationStatus.isSuccess, "\(arguments): \(result.standardError)")
        return result.standardOutput
    }

    private func end(
        _ arguments: [String], _ db: String, token: String = "", isSilent: Bool = false
    ) async throws -> Int32? {
        let result = try await Subprocess.run(
            .path(FilePath(BuiltPrograms.path("penstock"))), arguments: Arguments(arguments),
            environment: .inherit.updating(["PENSTOCK_DB": db, "PENSTOCK_TOKEN": token]), output: .discarded,
            error: .string(limit: 65_536))
        guard case .exited(let status) = result.terminationStatus else { return nil }
        #expect(result.standardError.split(separator: "\n").count == (isSilent ? 0 : 1))
        return status
    }
}
