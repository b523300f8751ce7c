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
}
