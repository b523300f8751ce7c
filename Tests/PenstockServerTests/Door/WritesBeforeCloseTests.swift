import Penstock
import PenstockTestKit
import Testing

/// An answer that is longer than what the system takes at once comes whole, however its client ends its side.
@Suite(.timeLimit(.minutes(5))) struct WritesBeforeCloseTests {
    @Test(arguments: [
        // The client says that it asks for no more.
        ("\r\n", "", true),
        // What comes behind the request is no request, and its body no body.
        ("Transfer-Encoding: chunked\r\n\r\n0\r\nzz\r\n", "", false),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\nzz\r\n", String(repeating: "x", count: 200_000), false),
        ("Connection: close\r\n\r\n", String(repeating: "x", count: 200_000), false),
    ])
    func aLongAnswerComesWhole(rest: String, behind: String, isFinished: Bool) async throws {
        try await TestServer.inMemory { server in
            let payload = String(repeating: "a", count: 12_000_000)
            try await server.put(payload)
            let client = try server.client()
            try client.send("GET /v1/messages/1/payload HTTP/1.1\r\nHost: localhost\r\n" + rest)
            if isFinished { client.finish() }
            // The server has begun to answer.
            let begin = try await client.receive(until: "\r\n\r\n")
            try? client.send(behind)
            let answer = begin + (try await client.receive())
            let end = try #require(answer.firstRange(of: "\r\n\r\n"))
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer[end.upperBound...].utf8.count == payload.utf8.count)
        }
    }
}
