import Foundation
import Logging
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockDashboard
@testable import PenstockServer

/// SIGHUP, by which a server is told that its file of tokens is another one.
@Suite(.timeLimit(.minutes(5))) struct HangUpTests {
    private static let (old, new) = ("old-0123456789abcdef", "new-0123456789abcdef")

    private static func write(_ token: String, to path: String) throws {
        try Data("a \(token) read".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    @Test func allWhoKnowTheTokensKnowTheNewOnes() throws {
        let folder = TemporaryFolder()
        let path = folder.file("tokens")
        try Self.write(Self.old, to: path)
        let tokens = try Tokens.read(path)
        let copy = tokens
        let log = TestLog(from: .warning)
        try Data("no token".utf8).write(to: URL(fileURLWithPath: path))
        HangUps.reread(path, into: tokens, log.logger)
        #expect(copy.principal(showing: Self.old) != nil)
        #expect(
            log.linesWithLevels.count == 1
                && log.linesWithLevels.first?.contains("The tokens stay as they were: ") == true)
        try Self.write(Self.new, to: path)
        HangUps.reread(path, into: tokens, log.logger)
        #expect(copy.principal(showing: Self.old) == nil)
        #expect(copy.principal(showing: Self.new) != nil)
        #expect(copy.token(named: "a")?.secret == Self.new)
    }

    @Test func theSignalHasTheFileReadAgain() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("tokens")
        try Self.write(Self.old, to: path)
        try await ServerProcess.run(in: folder, options: ["--token-file", path]) { server in
            try Self.write(Self.new, to: path)
            server.send(signal: SIGHUP)
            // The signal is on its way: until it has come the server answers by the old tokens.
            var answer = ""
            repeat {
                answer = try await server.send(
                    "GET", "/v1/queues", headers: ["Authorization": "Bearer \(Self.new)"])
            } while answer.contains("unauthorized")
            #expect(answer.contains("made"))
            let refused = try await server.send(
                "GET", "/v1/queues", headers: ["Authorization": "Bearer \(Self.old)"])
            #expect(refused.contains("unauthorized"))
        }
    }

    /// Streams go on for days, and their tokens may not.
    @Test(arguments: ["/v1/queues/q/log?follow=true", "/events"])
    func whatATokenFollowsEndsWithIt(path: String) async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("q", of: String.self)
        let tokens = try Tokens("a \(Self.old) read")
        try await TestServer.run(store: store, tokens: tokens) { server in
            let follower = try server.client()
            try follower.request("GET", path, headers: ["Authorization": "Bearer \(Self.old)"])
            _ = try await follower.receive(until: "\r\n\r\n")
            try await queue.enqueue("seen")
            _ = try await follower.receive(until: path == "/events" ? "[\"q\"]" : "seen")
            // One that may do more goes on.
            tokens.become(try Tokens("a \(Self.old) read,produce"))
            try await queue.enqueue("seen as well")
            _ = try await follower.receive(until: path == "/events" ? "[\"q\"]" : "seen as well")
            tokens.become(try Tokens("a \(Self.new) read"))
            try await queue.enqueue("hidden")
            // Until the server has ended the answer, or the connection.
            let rest = try await follower.receive(until: path == "/events" ? "0\r\n\r\n" : nil)
            #expect(!rest.contains("hidden") && !rest.contains("[\"q\"]"), "\(rest)")
            #expect(
                path == "/events" || !rest.hasSuffix("0\r\n\r\n"), "What is cut off does not end as a whole log does.")
        }
    }

    /// A store at which nobody has to look: whatever comes is told.
    private struct QuietStore: ForwardingStore {
        let base: any MessageStore
        var lookInterval: Duration { .seconds(60) }
    }

    /// To a log in which nothing comes the server says a word in a quarter of a minute.
    @Test func anIdleLogEndsWithItsTokenAtOnce() async throws {
        let store = PenstockStore(QuietStore(base: TestDatabase().open()))
        _ = try await store.queue("q")
        let tokens = try Tokens("a \(Self.old) read")
        try await TestServer.run(store: store, tokens: tokens) { server in
            let follower = try server.client()
            try follower.request(
                "GET", "/v1/queues/q/log?follow=true", headers: ["Authorization": "Bearer \(Self.old)"])
            _ = try await follower.receive(until: "\r\n\r\n")
            try await store.storage.changes.waitForWaiters(count: 1)
            let began = ContinuousClock.now
            tokens.become(try Tokens("a \(Self.new) read"))
            // Until the server has ended the connection.
            #expect(try await !follower.receive().hasSuffix("0\r\n\r\n"))
            #expect(ContinuousClock.now - began < .seconds(10))
        }
    }

    /// With what is told is asked who may be told. Time stands still here, so that nothing else is told.
    @Test func anOpenPageIsToldSomethingWhenTokensChange() async throws {
        let tokens = try Tokens("a \(Self.old) read")
        let live = Live()
        var news = try #require(live.listen()).makeAsyncIterator()
        let store = PenstockStore(TestDatabase().open())
        let run = Task { await live.run(store, tokens: tokens, time: ManualTime()) }
        #expect(await news.next() == .missed, "The first look.")
        tokens.become(try Tokens("a \(Self.new) read"))
        #expect(await news.next() == .tick)
        run.cancel()
        await run.value
    }

    /// What waits is looked at again: a message that was claimed for somebody who may not settle it waits for its lease to end.
    @Test func aTokenThatIsTakenBackClaimsNothing() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("q", of: String.self)
        let tokens = try Tokens("a \(Self.old) consume")
        try await TestServer.run(store: store, tokens: tokens) { server in
            let worker = try server.client()
            try worker.request(
                "POST", "/v1/queues/q/claims", headers: ["Authorization": "Bearer \(Self.old)"], body: #"{"wait":"1m"}"#
            )
            try await store.storage.changes.waitForWaiters(count: 1)
            tokens.become(try Tokens("a \(Self.new) consume"))
            try await queue.enqueue("secret")
            let answer = try await worker.receive(until: "}")
            #expect(answer.hasPrefix("HTTP/1.1 401 ") && !answer.contains("secret"), "\(answer)")
            #expect(try await queue.status().depths.ready == 1)
        }
    }

    /// A message that waits for room comes in line for him alone who may still put it there.
    @Test func aTokenThatIsTakenBackEnqueuesNothing() async throws {
        let store = PenstockStore(TestDatabase().open())
        let policy = QueuePolicy(capacity: Capacity(1, whenFull: .wait))
        let queue = try await store.queue("q", of: String.self, policy: policy)
        try await queue.enqueue("first")
        let tokens = try Tokens("a \(Self.old) produce")
        try await TestServer.run(store: store, tokens: tokens) { server in
            let producer = try server.client()
            try producer.request(
                "POST", "/v1/queues/q/messages?wait=1m", headers: ["Authorization": "Bearer \(Self.old)"],
                body: "second")
            try await store.storage.changes.waitForWaiters(count: 1)
            tokens.become(try Tokens("a \(Self.new) produce"))
            try await queue.purge()
            let answer = try await producer.receive(until: "}")
            #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(answer)")
            let status = try await queue.status()
            #expect(status.totals.enqueued == 1 && status.depths.ready == 0)
        }
    }

    /// What a message gives is told to nobody whose token was taken back while he waited for it.
    @Test func aTokenThatIsTakenBackIsToldNoResult() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("q", of: String.self)
        let sequence = try await queue.enqueue("work").sequence
        let claim = ClaimRequest(queue: queue.name, limit: 1, lease: .seconds(3600))
        let lease = try #require(try await store.storage.claim(claim).messages.first).lease
        let tokens = try Tokens("a \(Self.old) read")
        try await TestServer.run(store: store, tokens: tokens) { server in
            let reader = try server.client()
            try reader.request(
                "GET", "/v1/messages/\(sequence)/result?wait=1m", headers: ["Authorization": "Bearer \(Self.old)"])
            try await store.storage.changes.waitForWaiters(count: 1)
            tokens.become(try Tokens("a \(Self.new) read"))
            let verdict = Settlement(lease, .done, result: Array("\"secret\"".utf8))
            #expect(try await store.storage.settle([verdict]) == [.settled(.done)])
            let answer = try await reader.receive(until: "}")
            #expect(answer.hasPrefix("HTTP/1.1 401 ") && !answer.contains("secret"), "\(answer)")
        }
    }

    @Test func withoutAFileTheSignalMeansNothing() async throws {
        try await ServerProcess.run { server in
            server.send(signal: SIGHUP)
            let queues = try await server.send("GET", "/v1/queues")
            #expect(queues.contains("made"))
        }
    }

    @Test func aFileThatCanOnlyBeReadHasAWayToBeServed() {
        let refused = ServerCommand.refusal(ofReading: PenstockError(.readOnly, "The file cannot be written."))
        #expect(refused.code == .readOnly)
        #expect(
            refused.message
                == "The file cannot be written; with --read-only the server shows what is there, and changes nothing.")
    }
}
