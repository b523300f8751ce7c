import Foundation
import PenstockTestKit
import Testing

@testable import PenstockServerTests

/// `penstock serve` on a database, as a process of its own.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct ServeTests {
    /// An address with a password, which nothing may show.
    private func withPassword(_ url: String) -> String {
        url.replacing("//penstock@", with: "//penstock:\(Tool.password)@")
    }

    private func status(_ answer: String) -> String { String(answer.dropFirst("HTTP/1.1 ".count).prefix(3)) }

    @Test func allFacesAreThere() async throws {
        let tool = try Tool()
        let folder = TemporaryFolder()
        let log = folder.file("log")
        try await ServerProcess.run(at: withPassword(tool.url), log: log) { server in
            let made = try await server.answer("POST", "/v1/queues/made/messages", "hello")
            #expect(status(made) == "201")
            let sqs = ["X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"]
            #expect(try await server.send("POST", "/", "{}", headers: sqs).contains("/made\""))
            let metrics = try await server.answer("GET", "/metrics")
            #expect(metrics.contains("penstock_queue_messages{queue=\"made\",state=\"ready\"} 1\n"))
            #expect(!metrics.contains("penstock_store_file_bytes") && !metrics.contains("penstock_store_wal_bytes"))
            #expect(try await server.send("GET", "/doctor").contains("looks at the tables of"))
            let form = ["Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"]
            let looked = try await server.send("POST", "/doctor", "", headers: form)
            #expect(looked.contains("nothing holds vacuum back") && !looked.contains(Tool.password))
            for path in ["/", "/queues/made", "/workers", "/audit", "/doctor", "/metrics", "/readyz", "/v1/queues"] {
                let answer = try await server.answer("GET", path)
                #expect(status(answer) == "200", "\(path): \(answer)")
                #expect(!answer.contains(Tool.password), "\(path)")
            }
            // A command beside it sees the same.
            #expect(try await tool.succeed(["list", "made"]).contains("hello"))
        }
        #expect(try String(contentsOfFile: log, encoding: .utf8) == "")
    }

    /// What is asked for is not to be had, as the database is away.
    private func isAway(_ server: ServerProcess, _ path: String) async throws {
        let answer = try await server.answer("GET", path)
        let words = answer.lowercased()
        #expect(status(answer) == "503", "\(path): \(answer)")
        #expect(words.contains("\r\nretry-after: 1\r\n"), "\(path)")
        let isPage = path == "/" || path == "/queues/made"
        #expect(words.contains("\r\ncontent-type: \(isPage ? "text/html" : "application/problem+json")"), "\(path)")
        #expect(words.contains(path == "/readyz" ? "the store does not answer." : "cannot be reached"), "\(path)")
        #expect(!answer.contains(Tool.password), "\(path)")
    }

    @Test func aDatabaseThatGoesAwayIsSaidAndFoundAgain() async throws {
        let servers = try FaultyServers()
        let node = servers.node("a")
        try await servers.makePrimary(node)
        let folder = TemporaryFolder()
        let log = folder.file("log")
        try await ServerProcess.run(at: withPassword(node.address), log: log) { server in
            try await server.send("POST", "/v1/queues/made/messages", "before")
            try await servers.stop(node)
            // What is asked for meanwhile waits for the database, and is carried out once.
            async let enqueued = server.answer("POST", "/v1/queues/made/messages", "meanwhile")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for path in ["/v1/queues", "/readyz", "/metrics", "/", "/queues/made"] {
                    group.addTask { try await isAway(server, path) }
                }
                try await group.waitForAll()
            }
            let sqs = ["X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"]
            let refusal = try await server.answer("POST", "/", "{}", headers: sqs)
            #expect(status(refusal) == "503" && refusal.contains("ServiceUnavailable"))
            #expect(try await server.send("GET", "/healthz") == "{\"status\":\"ok\"}\n")
            try await servers.start(node)
            #expect(try await status(enqueued) == "201")
            for path in ["/readyz", "/", "/v1/queues", "/metrics"] {
                #expect(try await status(server.answer("GET", path)) == "200", "\(path)")
            }
            #expect(try await servers.ask(node, "SELECT payload FROM penstock.penstock_log").count == 2)
        }
        let said = try String(contentsOfFile: log, encoding: .utf8)
        #expect(said.contains("cannot be reached") && !said.contains(Tool.password))
    }

    /// Whoever stops the server waits for what was begun, as long as calls wait, and for nothing else.
    @Test func itEndsWhileTheDatabaseIsAway() async throws {
        let servers = try FaultyServers()
        let node = servers.node("a")
        try await servers.makePrimary(node)
        let stopped = try await ServerProcess.run(at: node.address) { _ in
            try await servers.stop(node)
            return ContinuousClock.now
        }
        #expect(stopped.duration(to: .now) < .seconds(80))
    }

    @Test func whatCannotBeServedSaysSo() async throws {
        let tool = try Tool()
        try await tool.fail(["serve"], with: 66, saying: "`penstock queue create` makes")
        #expect(try !tool.isThere())
        try await tool.fail(
            ["serve"], at: "postgres://mill:geheim@127.0.0.1:1/x", with: 69, saying: "cannot be reached")
        try await tool.fail(["serve"], at: "http://127.0.0.1:1", with: 64, saying: "needs the file itself")
    }

    @Test func aCheckForPrometheusHasNoFile() async throws {
        let tool = try Tool()
        try await tool.succeed(["queue", "create", "q"])
        let text = try await tool.succeed(["check", "--all", "--format", "prometheus"])
        #expect(text.contains("penstock_queue_messages") && !text.contains("_bytes"))
    }
}
