import Foundation
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockSQS

/// What a token that is limited cannot do by way of Amazon's actions.
@Suite struct SQSRightsTests {
    private static let (team, other, ops) = ("secret-of-team-0000", "secret-of-other-000", "secret-of-ops-00000")

    /// Calls `body` with a server whose tokens are `team`, `other` and `ops`: the last may do everything.
    private func withServer(
        _ store: PenstockStore = PenstockStore(InMemoryStore()), team: String, other: String = "read none",
        _ body: @escaping @Sendable (_ team: TestServer, _ other: TestServer, _ ops: TestServer) async throws -> Void
    ) async throws {
        let tokens = try Tokens(
            """
            team \(Self.team) \(team)
            other \(Self.other) \(other)
            ops \(Self.ops) read,produce,consume,operate
            """)
        try await TestServer.run(store: store, tokens: tokens) { server in
            try await body(server.showing(Self.team), server.showing(Self.other), server.showing(Self.ops))
        }
    }

    @Test func aQueuesNoteIsItsOperators() async throws {
        try await withServer(team: "consume") { team, _, ops in
            let url = try await ops.sqsQueue("mail", ["VisibilityTimeout": "7"])
            for number in ["1", "2", "9223372036854775807", "x"] {
                let path = "/v1/queues/mail/cursors/amazon-sqs.\(number)"
                let note = #"{"note": "{\"attributes\":{\"MessageRetentionPeriod\":\"60\"},\"tags\":{}}"}"#
                #expect(try await team.send("PUT", path, note).status == 403)
                #expect(try await team.send("PUT", path, #"{"after": 0, "missed": 1}"#).status == 403)
                #expect(try await team.send("DELETE", path).status == 403)
            }
            #expect(try await team.send("PUT", "/v1/queues/mail/cursors/reader", "{}").status == 200)
            let all = try await ops.sqs("GetQueueAttributes", ["QueueUrl": url, "AttributeNames": ["All"]])
            #expect((all["Attributes"] as? [String: String])?["VisibilityTimeout"] == "7")
        }
    }

    /// Nobody learns by asking for a queue to be made, or for its dead letters to go somewhere, which queues there are.
    @Test func whoMayDoNothingWithAQueueIsNotToldWhetherItIsThere() async throws {
        let store = PenstockStore(InMemoryStore())
        for name in ["orders", "nobodys"] { _ = try await store.queue(name) }
        _ = try await store.queue("team-old", policy: QueuePolicy(retry: RetryPolicy(attemptsMax: 3)))
        try await withServer(store, team: "operate team-*") { team, _, _ in
            func refusal(_ action: String, _ input: [String: Any], about queue: String) async throws -> String {
                let response = try await team.sqsResponse(action, input)
                #expect(response.status == 403, "\(response.text)")
                return response.text.replacing(queue, with: "QUEUE")
            }
            func refusals(about queue: String) async throws -> [String] {
                let redrive = ["RedrivePolicy": TestServer.redrivePolicy(to: queue, after: 3)]
                return [
                    try await refusal("CreateQueue", ["QueueName": queue], about: queue),
                    try await refusal("CreateQueue", ["QueueName": "team-a", "Attributes": redrive], about: queue),
                    try await refusal("CreateQueue", ["QueueName": "team-old", "Attributes": redrive], about: queue),
                    try await refusal(
                        "SetQueueAttributes", ["QueueUrl": "team-old", "Attributes": redrive], about: queue),
                ]
            }
            let there = try await refusals(about: "orders")
            #expect(try await refusals(about: "missing") == there)
            #expect(try await store.storage.status(of: nil).cursors.isEmpty)
            _ = try await team.sqsQueue("team-dead")
            let redrive = ["RedrivePolicy": TestServer.redrivePolicy(to: "team-dead", after: 3)]
            _ = try await team.sqsQueue("team-old", redrive)
        }
    }

    /// The dead letters of a queue go back for a token that may operate it, and no other hears of it.
    @Test func deadLettersOfOthersAreNotMoved() async throws {
        try await withServer(team: "read,operate dead,mail") { team, _, ops in
            let dead = try await ops.sqsQueue("dead")
            for name in ["mail", "orders"] {
                let url = try await ops.sqsQueue(name, withDeadLettersIn: "dead")
                try await ops.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "x"])
                try await ops.sqsFail(url)
            }
            let response = try await team.sqsResponse("StartMessageMoveTask", ["SourceArn": TestServer.arn("dead")])
            #expect(response.status == 403)
            #expect(!response.text.contains("orders"))
            let sources = try await team.sqs("ListDeadLetterSourceQueues", ["QueueUrl": dead])["queueUrls"] as? [String]
            #expect(sources?.map { $0.hasSuffix("/mail") } == [true])
        }
    }
}
