import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// Bodies that were compressed on their way. Nobody here undoes that, and a message would be taken for what it is not.
@Suite(.timeLimit(.minutes(5))) struct CodedBodyTests {
    @Test(arguments: ["gzip", "GZIP", "br, identity", "identity, zstd"])
    func aBodyThatWasCodedIsRefused(coding: String) async throws {
        try await TestServer.inMemory { server in
            for (method, path) in [
                // The first of these goes in line with those of others, and the next does not.
                ("POST", "/v1/queues/q/messages"), ("POST", "/v1/queues/q/messages?wait=1s"),
                ("POST", "/v1/queues/q/claims"), ("PUT", "/v1/queues/other"), ("PUT", "/v1/queues/q/cursors/c"),
                ("POST", "/v1/settlements"), ("POST", "/v1/store/rings"), ("POST", "/queues/q/enqueue"),
            ] {
                let refused = try await server.send(method, path, "{}", headers: ["Content-Encoding": coding])
                #expect(refused.status == 415 && refused.code == "codedBody", "\(path): \(refused.text)")
                #expect(refused.header("Accept-Encoding") == "identity", "\(path)")
            }
            let lines = ["Content-Type": "application/x-ndjson", "Content-Encoding": coding]
            #expect(try await server.send("POST", "/v1/queues/q/messages", "{}", headers: lines).status == 415)
            #expect(try await server.depths()["ready"] == 0)
            #expect(try await server.store.queues().map(\.name.text) == ["q"])
        }
    }

    @Test func aBodyAsItIsMaySaySo() async throws {
        try await TestServer.inMemory { server in
            let one = try await server.put("x", headers: ["Content-Encoding": "Identity"])
            // What a message is, is its producer's and its consumer's affair.
            let other = try await server.put("x", headers: ["Penstock-Header-Content-Encoding": "gzip"])
            #expect(try await server.show(one)["headers"] as? [String: String] == [:])
            #expect(try await server.show(other)["headers"] as? [String: String] == ["content-encoding": "gzip"])
            #expect(try await server.send("GET", "/v1/queues", headers: ["Content-Encoding": "gzip"]).status == 200)
        }
    }

    /// A client of Amazon SQS is told in its own way.
    @Test func aClientOfAmazonIsToldInItsOwnWay() async throws {
        try await TestServer.inMemory { server in
            let refused = try await server.request(
                "POST", "/",
                headers: [
                    "X-Amz-Target": "AmazonSQS.SendMessage", "Content-Type": "application/x-amz-json-1.0",
                    "Content-Encoding": "gzip",
                ], body: Data(#"{"QueueUrl":"q","MessageBody":"x"}"#.utf8))
            #expect(refused.status == 415, "\(refused.text)")
            #expect(try refused.json()["__type"] as? String == "com.amazonaws.sqs#SerializationException")
            #expect(try await server.depths()["ready"] == 0)
        }
    }
}
