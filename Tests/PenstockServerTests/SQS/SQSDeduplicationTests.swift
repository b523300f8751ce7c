import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// Which messages of a queue in order are the same to it.
@Suite struct SQSDeduplicationTests {
    private func waiting(_ server: TestServer) async throws -> [Int] {
        try await server.store.queues().map(\.depths.waiting)
    }

    /// An id that is of its group is another one in another group.
    @Test(arguments: [("messageGroup", "perMessageGroupId", 2), ("queue", "perQueue", 1)])
    func anIDIsOfTheGroupOrOfTheQueue(scope: String, throughput: String, count: Int) async throws {
        try await TestServer.run { server in
            let url = try await server.sqsQueue(
                "f.fifo", ["FifoQueue": "true", "DeduplicationScope": scope, "FifoThroughputLimit": throughput])
            var ids: [String] = []
            for group in ["g", "h", "g"] {
                let sent = try await server.sqs(
                    "SendMessage",
                    ["QueueUrl": url, "MessageBody": group, "MessageGroupId": group, "MessageDeduplicationId": "1"])
                ids.append(try #require(sent["MessageId"] as? String))
            }
            #expect(ids[0] == ids[2])
            #expect(Set(ids).count == count)
            #expect(try await waiting(server) == [count])
        }
    }

    @Test func whatIsSentAgainWithinFiveMinutesIsThereOnce() async throws {
        let time = ManualTime()
        let store = PenstockStore(InMemoryStore(time: time), options: .init(time: time))
        try await TestServer.run(store: store) { server in
            let url = try await server.sqsQueue("f.fifo", ["FifoQueue": "true", "ContentBasedDeduplication": "true"])
            func send() async throws -> String {
                let sent = try await server.sqs(
                    "SendMessage", ["QueueUrl": url, "MessageBody": "x", "MessageGroupId": "g"])
                return try #require(sent["MessageId"] as? String)
            }
            let first = try await send()
            time.advance(by: .seconds(299))
            #expect(try await send() == first)
            #expect(try await waiting(server) == [1])
            time.advance(by: .seconds(2))
            #expect(try await send() != first)
            #expect(try await waiting(server) == [2])
        }
    }

    /// A group and an id with spaces in them would together be another group and another id.
    @Test(arguments: ["", "a b", "é", "a\t", String(repeating: "x", count: 129)])
    func aGroupAndAnIDHaveMarksAndLettersAlone(_ text: String) async throws {
        try await TestServer.run { server in
            let url = try await server.sqsQueue("f.fifo", ["FifoQueue": "true", "DeduplicationScope": "messageGroup"])
            let good = ["QueueUrl": url, "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "1"]
            for name in ["MessageGroupId", "MessageDeduplicationId"] {
                try await server.sqsRefuses(
                    "SendMessage", good.merging([name: text]) { $1 }, "InvalidParameterValue")
            }
            #expect(try await waiting(server) == [0])
            let longest = String(repeating: "~", count: 128)
            try await server.sqs(
                "SendMessage", good.merging(["MessageGroupId": longest, "MessageDeduplicationId": longest]) { $1 })
            #expect(try await waiting(server) == [1])
        }
    }
}
