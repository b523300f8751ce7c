import Foundation
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Penstock
import PenstockCore
import PenstockWire
import Testing

@testable import PenstockHTTP

/// Clients that take their time, say too much, or nothing.
@Suite(.timeLimit(.minutes(5))) struct HostileClientTests {
    @Test(arguments: [
        "GET /v1/queues HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 70_000))\r\n\r\n",
        "GET /v1/queues HTTP/1.1\r\nHost: localhost\r\n\((0..<300).map { "X\($0): y\r\n" }.joined())\r\n",
        "GET /v1/queues\u{0} HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ])
    func whatIsNoRequestEndsTheConnection(text: String) async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            try client.send(text)
            let answer = try await client.receive()
            #expect(answer.isEmpty || answer.contains(" 4") || answer.contains(" 5"))
            #expect(!answer.contains(" 500"))
            #expect(try await server.send("GET", "/v1/queues").status == 200)
        }
    }

    @Test(arguments: [
        ("X: \(String(repeating: "x", count: 70_000))\r\n\r\n", "431 ", "too large"),
        ("\((0..<300).map { "X\($0): y\r\n" }.joined())\r\n", "431 ", "too many"),
        ("Host: localhost\r\n\r\n", "400 ", "RFC 9112"),
    ])
    func whyItIsNoRequestIsSaid(headers: String, status: String, words: String) async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            try client.send("GET /v1/queues HTTP/1.1\r\nHost: localhost\r\n" + headers)
            let answer = try await client.receive(until: "}\n")
            let head = answer.lowercased()
            #expect(answer.hasPrefix("HTTP/1.1 \(status)") && answer.contains(words), "\(answer)")
            #expect(head.contains("\r\ncontent-type: application/problem+json\r\n"))
            #expect(head.contains("\r\nconnection: close\r\n") && !head.contains("\r\ncontent-length: 0\r\n"))
        }
    }

    @Test(arguments: [
        "CONNECT /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Close\r\n\r\n",
    ])
    func aConnectionOfWhichNothingMoreIsReadEndsWithItsAnswer(text: String) async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            try client.send(text)
            // It comes to its end: a client that asks again would wait for nothing.
            let answer = try await client.receive()
            #expect(answer.hasPrefix(text.hasPrefix("GET") ? "HTTP/1.1 200 " : "HTTP/1.1 404 "))
            #expect(answer.lowercased().contains("\r\nconnection: close\r\n"))
        }
    }

    @Test(arguments: [("/v1/nothing", 404), ("/v1/queues", 200), ("/", 200), ("/v1/queues/../x", 404)])
    func anAnswerToHeadHasNoBody(path: String, status: Int) async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            try client.send(
                "HEAD \(path) HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            let answers = try await client.receive()
            #expect(answers.hasPrefix("HTTP/1.1 \(status) "))
            let end = try #require(answers.range(of: "\r\n\r\n"))
            #expect(answers[end.upperBound...].hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func aClientThatHangsUpIsNoFailureOfTheServer() throws {
        let reset = try #require(Problem(known: IOError(errnoCode: ECONNRESET, reason: "read")))
        #expect(reset.status.code == 499)
        #expect(try #require(Problem(known: ChannelError.ioOnClosedChannel)).status.code == 499)
    }

    /// A call of the store that is that large changes something. None of it is sent here, and it is answered.
    @Test(arguments: [true, false]) func noLargeCallIsReadOfSomebodyWhoOnlyLooks(isReadOnly: Bool) async throws {
        let key = "0123456789abcdef"
        let tokens = try Tokens("reader \(key) \(isReadOnly ? "read,produce" : "read")")
        try await TestServer.run(tokens: tokens, isReadOnly: isReadOnly) { server in
            let client = try server.client()
            try client.send(
                "POST /v1/store HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(key)\r\n"
                    + "Content-Type: \(WireFormat.contentType)\r\nContent-Length: \(8 * 1024 * 1024)\r\n\r\n")
            let answer = try await client.receive(until: "}")
            #expect(answer.hasPrefix("HTTP/1.1 403 "), "\(answer)")
            #expect(answer.contains(isReadOnly ? "readOnly" : "forbidden"), "\(answer)")
        }
    }

    @Test func aBodyWithoutEndIsReadUpToItsBound() async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            try client.send(
                "POST /v1/queues/q/claims HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            let part = "10000\r\n\(String(repeating: " ", count: 0x10000))\r\n"
            // The server answers, and hears no more of it.
            for _ in 0..<32 { try? client.send(part) }
            #expect(try await client.receive(until: "tooLarge").contains("413"))
        }
    }

    @Test func manyIdleConnectionsAreInNobodysWay() async throws {
        try await TestServer.inMemory { server in
            let idle = try (0..<500).map { _ in try server.client() }
            for client in idle.prefix(250) { try client.send("GET /v1/que") }
            #expect(try await server.send("GET", "/v1/queues").status == 200)
            withExtendedLifetime(idle) {}
        }
    }
}
