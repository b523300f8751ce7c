import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// What is taken for one request by two that follow each other on a connection.
@Suite(.timeLimit(.minutes(5))) struct CoalescedHeadersTests {
    /// A request of Amazon's protocol may come on any path.
    @Test func aRequestOfAnotherProtocolIsNotTaken() async throws {
        try await TestServer.inMemory(queues: ["q": QueuePolicy(), "other": QueuePolicy()]) { server in
            let body = #"{"QueueUrl":"other","MessageBody":"x"}"#
            let client = try server.client()
            try client.send(
                """
                POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.SendMessage\r
                Content-Length: \(body.utf8.count)\r\n\r\n\(body)
                """)
            try client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            _ = try await client.receive()
            #expect(try await server.store.list(MessageQuery()).map(\.queue.text) == ["other"])
        }
    }

    /// Swift takes both subjects for equal.
    @Test func eachMessageHasTheHeadersOfItsOwnRequest() async throws {
        try await TestServer.inMemory(queues: ["q": QueuePolicy()]) { server in
            let client = try server.client()
            let subjects = ["\u{e9}", "e\u{301}"]
            for subject in subjects {
                try client.send(
                    """
                    POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nce-id: 1\r\nce-source: s\r\nce-type: t\r
                    ce-specversion: 1.0\r\nce-subject: \(subject)\r\nContent-Length: 1\r\n\r\nx
                    """)
            }
            try client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            _ = try await client.receive()
            let records = try await server.store.list(MessageQuery(queue: QueueName(stored: "q")))
            #expect(records.map { $0.headers["ce-subject"].map { Array($0.utf8) } } == subjects.map { Array($0.utf8) })
        }
    }
}
