import Foundation
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockSQS

/// What becomes of a move task whose token is taken back while it goes on.
@Suite struct SQSTakenTokenTests {
    private static let (team, ops) = ("secret-of-team-0000", "secret-of-ops-00000")
    private static let left = "ops \(ops) read,produce,consume,operate"

    /// Calls `body` with a server on `store`, with the tokens of `team`, which may operate, and of `ops`, which may do everything.
    private func withServer(
        _ store: InterleavedStore,
        _ body: @escaping @Sendable (_ tokens: Tokens, _ team: TestServer, _ ops: TestServer) async throws -> Void
    ) async throws {
        let tokens = try Tokens("team \(Self.team) operate\n\(Self.left)")
        try await TestServer.run(store: PenstockStore(store), tokens: tokens) { server in
            try await body(tokens, server.showing(Self.team), server.showing(Self.ops))
        }
    }

    private let source = ["SourceArn": TestServer.arn("dead")]

    @Test func itMovesNoMoreLettersFromWhereTheyDied() async throws {
        let store = InterleavedStore(TestDatabase().open())
        try await withServer(store) { tokens, team, ops in
            _ = try await ops.sqsQueue("dead")
            for name in ["mail", "orders"] {
                let url = try await ops.sqsQueue(name, withDeadLettersIn: "dead")
                try await ops.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "x"])
                try await ops.sqsFail(url)
            }
            store.afterNext(.apply) { _ in tokens.become(try Tokens(Self.left)) }
            #expect(try await team.sqsResponse("StartMessageMoveTask", source).status == 403)
            #expect(try await store.status(of: QueueName("mail")).queues.first?.depths.dead == 0)
            #expect(try await store.status(of: QueueName("orders")).queues.first?.depths.dead == 1)
            let task = try await ops.sqsLastMove()
            #expect(task["ApproximateNumberOfMessagesMoved"] as? Int == 1)
            #expect(task["Status"] as? String == "FAILED")
        }
    }

    /// A hundred are moved at a time.
    @Test func itMovesNoMoreLettersThatWereBrought() async throws {
        let store = InterleavedStore(TestDatabase().open())
        try await withServer(store) { tokens, team, ops in
            _ = try await ops.sqsQueue("dead")
            _ = try await ops.sqsQueue("mail", withDeadLettersIn: "dead")
            try await ops.sqs("SendMessage", ["QueueUrl": "mail", "MessageBody": "x"])
            let (mail, dead) = (QueueName(stored: "mail"), QueueName(stored: "dead"))
            var letter = try #require(try await store.messages(MessageQuery(queue: mail)).records.first)
            let storeID = try await store.storeID()
            // Each as a letter that has died once more is brought.
            let copies = (1...150).map { attempt in
                letter.attempt = attempt
                let key = DeadLetters.key(of: letter, in: storeID)
                return NewMessage(payload: [0x78], uniqueKey: key, origin: letter.sequence)
            }
            _ = try await store.enqueue(copies, to: dead, durability: .processCrash)
            store.afterNext(.settle) { _ in tokens.become(try Tokens(Self.left)) }
            #expect(try await team.sqsResponse("StartMessageMoveTask", source).status == 403)
            let task = try await ops.sqsLastMove()
            #expect(task["ApproximateNumberOfMessagesMoved"] as? Int == 100)
            #expect(task["Status"] as? String == "FAILED")
            #expect(try await store.status(of: dead).queues.first?.depths.waiting == 50)
        }
    }
}
