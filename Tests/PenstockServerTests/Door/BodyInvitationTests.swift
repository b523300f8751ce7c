import Foundation
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockHTTP

/// Clients that wait to be told before they send a body (`Expect: 100-continue`), as curl does with a large one.
@Suite(.timeLimit(.minutes(5))) struct BodyInvitationTests {
    private static let invitation = "HTTP/1.1 100 Continue\r\n\r\n"

    private func head(_ fields: String, path: String = "/v1/queues/q/messages") -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\(fields)\r\n\r\n"
    }

    @Test(arguments: [("Content-Length: 5", "hello"), ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n")])
    func aBodyIsAskedForOnceItIsRead(fields: String, body: String) async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            for sequence in 1...2 {
                try client.send(head(fields))
                #expect(try await client.receive(until: "\r\n\r\n") == Self.invitation)
                try client.send(body)
                let answer = try await client.receive(until: "}")
                #expect(answer.hasPrefix("HTTP/1.1 201 ") && answer.contains("\"sequence\":\(sequence)"), "\(answer)")
                #expect(!answer.lowercased().contains("connection: close"))
            }
        }
    }

    @Test func theInvitationComesAfterTheAnswersToWhatCameBefore() async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            let put = "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx"
            let get = "GET /v1/queues/q HTTP/1.1\r\nHost: localhost\r\n\r\n"
            try client.send(put + get + head("Content-Length: 1"))
            let answers = try await client.receive(until: Self.invitation)
            #expect(answers.hasSuffix("}\n" + Self.invitation) && answers.contains("HTTP/1.1 201 "), "\(answers)")
            #expect(answers.contains("\"depths\""))
            try client.send("y" + get)
            #expect(try await client.receive(until: "\"depths\"").contains("\"sequence\":2"))
        }
    }

    /// What came next would be the body or another request, and nobody could say which.
    @Test(arguments: [
        ("/v1/queues/q/messages", "Content-Length: 17000000", 413), ("/v1/nothing", "Content-Length: 5", 404),
        ("/v1/queues/q/messages", "Penstock-Nonsense: 1\r\nContent-Length: 5", 400),
        ("/v1/queues/q/messages", "Sec-Fetch-Site: cross-site\r\nTransfer-Encoding: chunked", 403),
        ("/", "X-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: 8388609", 413),
        ("/", "X-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 262145", 413),
    ])
    func whoIsRefusedSendsNoBody(path: String, fields: String, status: Int) async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            try client.send(head(fields, path: path))
            // To its end.
            let answer = try await client.receive()
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            #expect(answer.lowercased().contains("\r\nconnection: close\r\n"))
        }
    }

    @Test func whoDoesNotWaitIsNotInvited() async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            try client.send(head("Content-Length: 5") + "hello")
            #expect(try await client.receive(until: "}").hasPrefix("HTTP/1.1 201 "))
        }
    }

    /// The first version of HTTP has no such answers.
    @Test(arguments: [
        (HTTPVersion.http1_1, "100-Continue", true), (.http1_0, "100-continue", false), (.http1_1, "x", false),
    ])
    func onlyWhoWaitsIsInvited(version: HTTPVersion, expectation: String, isInvited: Bool) throws {
        let channel = EmbeddedChannel(handler: BodyInvitation())
        var head = HTTPRequestHead(version: version, method: .POST, uri: "/")
        head.headers.add(name: "Expect", value: expectation)
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        for _ in 1...2 { try channel.triggerUserOutboundEvent(BodyInvitation.BodyIsRead()).wait() }
        let part = try channel.readOutbound(as: HTTPServerResponsePart.self)
        #expect(part == (isInvited ? .head(.init(version: .http1_1, status: .continue)) : nil))
        #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == nil)
        _ = try channel.finish()
    }
}
