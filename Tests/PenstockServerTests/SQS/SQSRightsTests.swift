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
        _ store: PenstockStore = PenstockStore(TestDatabase().open()), team: String, other: String = "read none",
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

    /// A handle names a queue by a digest that anybody can make.
    @Test(arguments: ["DeleteMessage", "ChangeMessageVisibility", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"])
    func aHandleOfAnotherQueueIsNone(_ action: String) async throws {
        let store = PenstockStore(TestDatabase().open())
        try await withServer(store, team: "consume mine") { team, _, ops in
            let (mine, url) = (try await ops.sqsQueue("mine"), try await ops.sqsQueue("secret"))
            try await ops.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "x"])
            let message = try #require(try await ops.sqsReceive(url).first)
            let storeID = try await store.storage.storeID()
            func place(_ queue: String) throws -> ReceiptHandle.Place {
                ReceiptHandle.Place(queue: try QueueName(queue), store: storeID)
            }
            let known = try #require(ReceiptHandle(message.handle, of: try place("secret")))
            let entry: [String: Any] = [
                "Id": "1", "ReceiptHandle": known.text(of: try place("mine")), "VisibilityTimeout": 0,
            ]
            if action.hasSuffix("Batch") {
                // A handle of one's own before it makes it no better.
                try await ops.sqs("SendMessage", ["QueueUrl": mine, "MessageBody": "own"])
                let own = try #require(try await team.sqsReceive(mine).first).handle
                let entries: [[String: Any]] = [["Id": "0", "ReceiptHandle": own, "VisibilityTimeout": 0], entry]
                try await team.sqs(action, ["QueueUrl": mine, "Entries": entries])
            } else {
                _ = try await team.sqsResponse(action, entry.merging(["QueueUrl": mine]) { $1 })
            }
            // As of a message that there is not, nothing is told of it.
            #expect(try await store.queues().first { $0.name.text == "secret" }?.depths.leased == 1)
            #expect(try await store.queues().first { $0.name.text == "mine" }?.depths.leased == 0)
        }
    }

    /// A note says into which queue dead letters go, and SQS's own way asks whether he may put messages there.
    @Test func theOperatorOfOneQueueWritesNoNoteThatNamesAnother() async throws {
        try await withServer(team: "produce,operate mail", other: "operate") { team, everywhere, ops in
            for queue in ["mail", "secret"] { _ = try await ops.sqsQueue(queue) }
            let policy = TestServer.redrivePolicy(to: "secret", after: 1).replacing("\"", with: "\\\\\\\"")
            let note = "{\"note\":\"{\\\"attributes\\\":{\\\"RedrivePolicy\\\":\\\"\(policy)\\\"},\\\"tags\\\":{}}\"}"
            let path = "/v1/queues/mail/cursors/amazon-sqs.2"
            #expect(try await team.send("PUT", path, note).status == 403)
            #expect(try await team.send("DELETE", path).status == 403)
            #expect(try await team.send("PUT", "/v1/queues/mail/cursors/reader", "{}").status == 403)
            #expect(try await everywhere.send("PUT", path, note).status == 200)
        }
    }

    /// Nobody learns by asking for a queue to be made, or for its dead letters to go somewhere, which queues there are.
    @Test func whoMayDoNothingWithAQueueIsNotToldWhetherItIsThere() async throws {
        let store = PenstockStore(TestDatabase().open())
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

    /// Letters that nobody has received from a dead-letter queue count as messages of it, and are in their own queues.
    @Test func deadLettersOfOthersAreNotPurged() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await withServer(store, team: "read,operate dead,mail", other: "operate dead,mail,orders") {
            team, other, ops in
            let dead = try await ops.sqsQueue("dead")
            for name in ["mail", "orders"] {
                let url = try await ops.sqsQueue(name, withDeadLettersIn: "dead")
                try await ops.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "x"])
                try await ops.sqsFail(url)
            }
            func letters() async throws -> [Int?] {
                let queues = try await store.queues()
                return ["mail", "orders"].map { name in queues.first { $0.name.text == name }?.depths.dead }
            }
            let response = try await team.sqsResponse("PurgeQueue", ["QueueUrl": dead])
            #expect(response.status == 403 && !response.text.contains("orders"), "\(response.text)")
            #expect(try await letters() == [1, 1])
            try await other.sqs("PurgeQueue", ["QueueUrl": dead])
            #expect(try await letters() == [0, 0])
        }
    }

    /// Names of queues are told to tokens that may do something with these.
    @Test func queuesOfOthersAreNeitherListedNorFound() async throws {
        try await withServer(team: "produce mail") { team, _, ops in
            for name in ["mail", "secret"] { _ = try await ops.sqsQueue(name) }
            for input: [String: Any] in [[:], ["MaxResults": 1]] {
                let list = try await team.sqs("ListQueues", input)
                #expect((list["QueueUrls"] as? [String])?.map { $0.hasSuffix("/mail") } == [true])
                #expect(list["NextToken"] == nil)
            }
            func refusal(of queue: String) async throws -> String {
                let response = try await team.sqsResponse("GetQueueUrl", ["QueueName": queue])
                #expect(response.status == 403, "\(response.text)")
                return response.text.replacing(queue, with: "QUEUE")
            }
            #expect(try await refusal(of: "secret") == refusal(of: "missing"))
            try await team.sqs("GetQueueUrl", ["QueueName": "mail"])
        }
    }

    /// What keeps letters where they are names their queues, which ListDeadLetterSourceQueues tells those alone that the token is for.
    @Test func whyLettersStayNamesNoQueueOfOthers() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await withServer(store, team: "read dead,mail") { team, _, ops in
            _ = try await ops.sqsQueue("dead")
            for name in ["mail", "orders"] { _ = try await ops.sqsQueue(name, withDeadLettersIn: "dead") }
            let orders = QueueName(stored: "orders")
            let message = NewMessage(payload: Array("x".utf8), uniqueKey: UniqueKey("k"))
            _ = try await store.storage.enqueue([message], to: orders, durability: .powerLoss)
            try await ops.sqsFail("orders")
            _ = try await store.storage.enqueue([message], to: orders, durability: .powerLoss)
            try await ops.sqsMove()
            for (server, isTold) in [(ops, true), (team, false)] {
                let task = try await server.sqsLastMove()
                #expect(task["Status"] as? String == "FAILED")
                #expect((task["FailureReason"] as? String)?.contains("'orders'") == isTold)
            }
        }
    }

    /// A handle that somebody has made up, of a message that another token has received.
    @Test func aHandleOfAnothersClaimFinishesNothing() async throws {
        let folder = TemporaryFolder()
        let stores = [
            PenstockStore(TestDatabase().open()), try await PenstockStore.open(path: folder.file("penstock.db")),
        ]
        for store in stores {
            try await withServer(store, team: "consume mail", other: "consume mail") { team, other, ops in
                let url = try await ops.sqsQueue("mail")
                func sequence(_ message: [String: Any]) throws -> Int64 {
                    try #require(Int64((message["MessageId"] as? String ?? "").suffix(12), radix: 16))
                }
                let place = ReceiptHandle.Place(queue: try QueueName("mail"), store: try await store.storage.storeID())
                func forged(_ sequence: Int64, attempt: Int) throws -> String {
                    let lease = Lease(sequence: SequenceNumber(sequence), token: LeaseToken(rawValue: 7))
                    return ReceiptHandle(lease: lease, attempt: attempt).text(of: place)
                }
                func delete(_ handle: String, _ server: TestServer) async throws {
                    try await server.sqs("DeleteMessage", ["QueueUrl": url, "ReceiptHandle": handle])
                }
                func depths() async throws -> Depths? {
                    try await store.queues().first { $0.name.text == "mail" }?.depths
                }

                try await ops.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "x"])
                // Of a message that nobody has received.
                for attempt in 0...1 { try await delete(try forged(1, attempt: attempt), other) }
                #expect(try await depths()?.ready == 1)
                let message = try #require(try await team.sqsFail(url).first)
                for attempt in 0...2 { try await delete(try forged(try sequence(message), attempt: attempt), other) }
                #expect(try await depths()?.ready == 1)
                try await delete(message.handle, team)
                #expect(try await depths()?.waiting == 0)

                // A dead letter.
                _ = try await ops.sqsQueue("dead")
                let redrive = ["RedrivePolicy": TestServer.redrivePolicy(to: "dead")]
                try await ops.sqs("SetQueueAttributes", ["QueueUrl": url, "Attributes": redrive])
                try await ops.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "y"])
                let letter = try #require(try await team.sqsFail(url).first)
                try await delete(try forged(try sequence(letter), attempt: 1), other)
                #expect(try await depths()?.dead == 1)
                try await delete(letter.handle, team)
                #expect(try await depths()?.dead == 0)

                // Nor does it tell of a message of another queue.
                try await ops.sqs("SendMessage", ["QueueUrl": "dead", "MessageBody": "z"])
                let elsewhere = try sequence(try #require(try await ops.sqsFail("dead").first))
                try await other.sqsRefuses(
                    "ChangeMessageVisibility",
                    ["QueueUrl": url, "ReceiptHandle": try forged(elsewhere, attempt: 1), "VisibilityTimeout": 5],
                    "InvalidParameterValue")
            }
            try await store.close()
        }
    }

    @Test func aReadOnlyServerTakesNoActionByWhateverPath() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await TestServer.run(store: store, isReadOnly: true) { server in
            for path in ["/", "/login", "/logout", "/v1/store", "/v1/store/rings"] {
                let response = try await server.sqsResponse("CreateQueue", ["QueueName": "mail"], path: path)
                #expect(response.status == 403)
            }
            let queues = try await store.queues()
            #expect(queues.isEmpty)
        }
    }

    /// The body of a large request is not read, nor waited for, of somebody whom nobody knows.
    @Test func whoIsNotKnownIsRefusedBeforeTheBody() async throws {
        try await withServer(team: "read") { team, _, _ in
            let client = try RawClient(port: try #require(team.url.port))
            try client.send(
                "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 8000000\r\n"
                    + "X-Amz-Date: 20260102T030405Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=nobody/20260102/eu-west-1/sqs/"
                    + "aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=00\r\n\r\n{")
            #expect(try await client.receive(until: "InvalidClientTokenId").contains("403"))
        }
    }
}
