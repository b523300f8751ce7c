import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQS

/// A group's messages are received in the order in which they were sent, whatever their delays.
@Suite struct SQSOrderTests {
    private let queue = QueueName(stored: "f.fifo")

    /// Calls `body` with a server and a queue in order that holds its messages back for 900 s, and what sends one of the group `g`.
    private func withQueue(
        time: any TimeSource = SystemTime(),
        _ body:
            @escaping @Sendable (
                _ server: TestServer, _ url: String, _ send: @Sendable (String, [String: Any]) async throws -> Void
            ) async throws -> Void
    ) async throws {
        let store = PenstockStore(InMemoryStore(time: time), options: .init(time: time))
        try await TestServer.run(store: store) { server in
            let url = try await server.sqsQueue(
                "f.fifo", ["FifoQueue": "true", "ContentBasedDeduplication": "true", "DelaySeconds": "900"])
            try await body(server, url) { text, more in
                let message = more.merging(["QueueUrl": url, "MessageBody": text, "MessageGroupId": "g"]) { $1 }
                try await server.sqs("SendMessage", message)
            }
        }
    }

    /// When the messages are due, in the order in which they were sent.
    private func dues(_ server: TestServer) async throws -> [Timestamp] {
        let records = try await server.store.storage.messages(MessageQuery(queue: queue)).records
        #expect(records.allSatisfy { $0.state == .scheduled })
        return records.compactMap(\.due)
    }

    @Test func aLowerDelayLetsNoMessageOvertake() async throws {
        let time = ManualTime()
        try await withQueue(time: time) { server, url, send in
            try await send("delay 900", [:])
            for delay in ["10", "20", "0"] {
                try await server.sqs("SetQueueAttributes", ["QueueUrl": url, "Attributes": ["DelaySeconds": delay]])
                try await send("delay \(delay)", [:])
            }
            let dues = try await dues(server)
            #expect(dues.count == 4)
            #expect(dues == dues.sorted())
            time.advance(by: .seconds(1000))
            for delay in [900, 10, 20, 0] {
                let message = try #require(try await server.sqsReceive(url, ["MaxNumberOfMessages": 10]).first)
                #expect(message.body == "delay \(delay)")
                try await server.sqs("DeleteMessage", ["QueueUrl": url, "ReceiptHandle": message.handle])
            }
        }
    }

    /// A message that is kept for less than it waits for the others does not expire before.
    @Test func aMessageThatWaitsForOthersDoesNotExpireMeanwhile() async throws {
        try await withQueue { server, url, send in
            try await send("1", [:])
            let attributes = ["DelaySeconds": "0", "MessageRetentionPeriod": "60"]
            try await server.sqs("SetQueueAttributes", ["QueueUrl": url, "Attributes": attributes])
            try await send("2", [:])
            let last = try await server.store.storage.messages(MessageQuery(queue: queue)).records.last
            #expect(try #require(last?.expiresAt) > (try #require(last?.due)))
        }
    }

    @Test func aMessageHasNoDelayOfItsOwn() async throws {
        try await withQueue { server, url, send in
            try await send("1", [:])
            // 0 is taken, and says nothing.
            try await send("2", ["DelaySeconds": 0])
            let dues = try await dues(server)
            #expect(dues.count == 2 && dues == dues.sorted())
            try await server.sqsRefuses(
                "SendMessage",
                ["QueueUrl": url, "MessageBody": "3", "MessageGroupId": "g", "DelaySeconds": 5], "InvalidParameterValue"
            )
        }
    }
}
