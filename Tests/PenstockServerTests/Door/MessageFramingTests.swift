import Penstock
import PenstockTestKit
import Testing

/// Requests of whose end, or of whose host, two programs may think differently, and clients of HTTP/1.0.
@Suite(.timeLimit(.minutes(5))) struct MessageFramingTests {
    private static let put = "POST /v1/queues/q/messages HTTP/1.1\r\n"

    @Test(arguments: [
        "Host: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        "Host: localhost\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        "Host: localhost\r\nHost: elsewhere\r\nContent-Length: 2\r\n\r\nhi",
        "Host: localhost\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi",
    ])
    func anUnclearRequestIsRefusedAndEndsItsConnection(_ rest: String) async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            // The next one is not read.
            try client.send(Self.put + rest + Self.put + "Host: localhost\r\nContent-Length: 1\r\n\r\nx")
            let answer = try await client.receive()
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            #expect(answer.lowercased().contains("connection: close"), "\(answer)")
            #expect(!answer.contains("HTTP/1.1 201 "), "\(answer)")
            let log = try await server.send("GET", "/v1/queues/q/log")
            #expect(log.status == 200 && log.text.isEmpty, "Nothing was enqueued.")
        }
    }

    @Test func chunksMayBeWrittenInAnyCase() async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            try client.send(
                Self.put + "Host: localhost\r\nTransfer-Encoding: CHUNKED\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
            #expect(try await client.receive(until: "}").hasPrefix("HTTP/1.1 201 "))
        }
    }

    /// A proxy such as nginx speaks HTTP/1.0 unless it is told otherwise.
    @Test(arguments: ["/v1/queues/q", "/v1/queues/q/log", "/v1/nothing"])
    func aClientOfHTTP10GetsNoChunksAndTheEndOfItsConnection(path: String) async throws {
        try await TestServer.inMemory { server in
            let first = try server.client()
            try first.send("POST /v1/queues/q/messages HTTP/1.0\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi")
            #expect(try await first.receive().hasPrefix("HTTP/1.0 201 "))
            let client = try server.client()
            try client.send("GET \(path) HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n")
            // Until the server hangs up.
            let answer = try await client.receive()
            let end = try #require(answer.firstRange(of: "\r\n\r\n"))
            let (head, body) = (answer[..<end.lowerBound].lowercased(), answer[end.upperBound...])
            #expect(head.contains("connection: close") && !head.contains("transfer-encoding"), "\(head)")
            #expect(body.hasPrefix("{") && body.hasSuffix("}\n"), "\(body)")
        }
    }

    /// A length of 0 would be that of an answer to GET without a body.
    @Test(arguments: ["1.0", "1.1"]) func theAnswerToHeadSaysNoLengthOfAStream(_ version: String) async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            let next = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            try client.send(
                "HEAD /v1/queues/q/log HTTP/\(version)\r\nHost: localhost\r\n\r\n" + (version == "1.1" ? next : ""))
            let answers = try await client.receive()
            let end = try #require(answers.firstRange(of: "\r\n\r\n"))
            let (head, rest) = (answers[..<end.lowerBound].lowercased(), answers[end.upperBound...])
            #expect(head.hasPrefix("http/\(version) 200 ") && !head.contains("content-length"), "\(head)")
            #expect(head.contains("content-type: application/x-ndjson"), "\(head)")
            #expect(head.contains("transfer-encoding: chunked") == (version == "1.1"), "\(head)")
            // The next answer begins where this one ends, or the connection has ended.
            #expect(version == "1.1" ? rest.hasPrefix("HTTP/1.1 200 ") : rest.isEmpty, "\(rest)")
        }
    }

    @Test(arguments: ["1.0", "1.1"])
    func whereNamesCountOneIsAskedFor(_ version: String) async throws {
        try await TestServer.inMemory { server in
            let client = try server.client()
            try client.send("GET /v1/queues HTTP/\(version)\r\nConnection: close\r\n\r\n")
            let answer = try await client.receive()
            #expect(answer.hasPrefix("HTTP/\(version) 421 ") && answer.contains("wrongHost"), "\(answer)")
        }
    }
}
