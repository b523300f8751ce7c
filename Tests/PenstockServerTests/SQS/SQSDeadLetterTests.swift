import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQS

/// How dead letters come into their queue, and back.
@Suite struct SQSDeadLetterTests {
    private let mail = QueueName(stored: "mail")
    private let dead = QueueName(stored: "dead")

    /// Calls `body` with a server, and the queues `dead` and `mail`, whose messages go there after one receive.
    private func withQueues(
        _ storage: any MessageStore = TestDatabase().open(), dead attributes: [String: String] = [:],
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        try await TestServer.run(store: PenstockStore(storage)) { server in
            _ = try await server.sqsQueue("dead", attributes)
            _ = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            try await body(server)
        }
    }

    private func send(_ body: String, _ server: TestServer) async throws {
        try await server.sqs("SendMessage", ["QueueUrl": "mail", "MessageBody": body])
    }

    private func bodies(_ server: TestServer, _ queue: String) async throws -> [String?] {
        try await server.sqsReceive(queue, ["MaxNumberOfMessages": 10]).map(\.body)
    }

    /// The name of the queue has no room beside the headers, which have as many bytes as may be.
    @Test func aLetterWithoutRoomInItsHeadersStopsNoOther() async throws {
        try await withQueues { server in
            let own = "{\"trace\":\"" + String(repeating: "x", count: Limits.headerBytesMax - 22) + "\"}"
            let many = Dictionary(uniqueKeysWithValues: (0..<Limits.headerCountMax).map { ("h\($0)", "x") })
            for headers in [["amazon-sqs": own], ["a": String(repeating: "x", count: Limits.headerBytesMax - 1)], many]
            {
                let message = NewMessage(payload: Array("big".utf8), headers: headers)
                _ = try await server.store.storage.enqueue([message], to: mail, durability: .powerLoss)
            }
            try await send("small", server)
            try await server.sqsFail("mail")
            #expect(try await bodies(server, "dead") == ["big", "big", "big", "small"])
            #expect(try await server.depths(of: mail)?.dead == 0)
        }
    }

    /// What another program has written beside a message is there when the message comes back.
    @Test func headersOfOthersComeBackAsTheyWere() async throws {
        try await withQueues { server in
            let message = NewMessage(payload: Array("x".utf8), headers: ["kind": "mail"])
            _ = try await server.store.storage.enqueue([message], to: mail, durability: .powerLoss)
            try await server.sqsFail("mail")
            let input: [String: Any] = ["MessageAttributeNames": ["All"], "VisibilityTimeout": 0]
            let letter = try await server.sqsReceive("dead", input).first
            let attributes = letter?["MessageAttributes"] as? [String: [String: String]]
            #expect(attributes?["kind"]?["StringValue"] == "mail")
            try await server.sqsMove()
            let records = try await server.store.storage.messages(MessageQuery(queue: mail, states: [.ready])).records
            #expect(records.map(\.headers) == [["kind": "mail"]])
        }
    }

    /// A message's group is where its queue has one for it: in line, or among what is kept beside the body.
    @Test(arguments: [("mail", "dead"), ("dead", "mail")])
    func aLetterKeepsItsGroup(fair: String, plain: String) async throws {
        try await withQueues { server in
            let storage = server.store.storage
            let name = QueueName(stored: fair)
            var policy = try #require(try await server.store.queues().first { $0.name == name }).policy
            policy.isFair = true
            _ = try await storage.configure(name, .set(policy, replacing: nil))
            // What the server knows of a queue is some seconds old, unless it has changed the queue by itself.
            let attributes = ["QueueUrl": fair, "Attributes": ["VisibilityTimeout": "30"]] as [String: Any]
            try await server.sqs("SetQueueAttributes", attributes)
            func groups(of queue: QueueName) async throws -> [String?] {
                try await storage.messages(MessageQuery(queue: queue, states: [.ready])).records.map(\.group)
            }
            try await server.sqs("SendMessage", ["QueueUrl": "mail", "MessageBody": "x", "MessageGroupId": "g"])
            #expect(try await groups(of: mail) == [fair == "mail" ? "g" : nil])
            try await server.sqsFail("mail")
            let input: [String: Any] = ["AttributeNames": ["MessageGroupId"], "VisibilityTimeout": 0]
            let letter = try await server.sqsReceive("dead", input).first
            #expect((letter?["Attributes"] as? [String: String])?["MessageGroupId"] == "g")
            #expect(try await groups(of: dead) == [fair == "dead" ? "g" : nil])
            try await server.sqsMove()
            #expect(try await groups(of: mail) == [fair == "mail" ? "g" : nil])
            let back = try await server.sqsReceive("mail", input).first
            #expect((back?["Attributes"] as? [String: String])?["MessageGroupId"] == "g")
        }
    }

    /// Has a letter die, and the call that brings it over end between its two steps.
    private func sendAndBringByHalf(_ server: TestServer, _ storage: FaultyStore) async throws {
        try await send("x", server)
        try await server.sqsFail("mail")
        storage.fail(.apply)
        #expect(try await server.sqsResponse("ReceiveMessage", ["QueueUrl": "dead"]).status == 500)
    }

    /// A call ends between the two steps; then the letter is put back in line, and dies again.
    @Test func aLetterThatDiesAgainIsBroughtAgain() async throws {
        let storage = FaultyStore(TestDatabase().open())
        try await withQueues(storage) { server in
            try await sendAndBringByHalf(server, storage)
            let copy = try await server.sqsReceive("dead")
            #expect(copy.map(\.body) == ["x"])
            try await server.sqs("DeleteMessage", ["QueueUrl": "dead", "ReceiptHandle": copy.first?.handle ?? ""])
            _ = try await storage.apply(.redrive, to: .queue(mail, states: [.dead]))
            try await server.sqsFail("mail")
            #expect(try await bodies(server, "dead") == ["x"])
        }
    }

    /// A call ends between the two steps, and the next one has no second copy.
    @Test func aLetterThatWasBroughtIsNotBroughtAgain() async throws {
        let storage = FaultyStore(TestDatabase().open())
        try await withQueues(storage) { server in
            try await sendAndBringByHalf(server, storage)
            #expect(try await bodies(server, "dead") == ["x"])
            #expect(try await bodies(server, "dead") == [])
            #expect(try await server.depths(of: mail)?.dead == 0)
        }
    }

    /// By the time of the next call the copy was received, deleted and forgotten.
    @Test func aLetterWhoseCopyIsForgottenIsNotBroughtAgain() async throws {
        let storage = FaultyStore(TestDatabase().open())
        try await withQueues(storage) { server in
            try await sendAndBringByHalf(server, storage)
            let copy = try await server.sqsReceive("dead")
            #expect(copy.map(\.body) == ["x"])
            try await server.sqs("DeleteMessage", ["QueueUrl": "dead", "ReceiptHandle": copy.first?.handle ?? ""])
            _ = try await storage.prune(PruneRequest(queue: dead, retention: Retention(count: 0)))
            #expect(try await storage.messages(MessageQuery(queue: dead)).isEmpty)
            #expect(try await bodies(server, "dead") == [])
            #expect(try await server.depths(of: mail)?.dead == 0)
        }
    }

    /// Keys move with their queues, and letters of another store may have the numbers in them.
    @Test func aLettersKeyIsOfItsStore() {
        let letter = MessageRecord(
            sequence: SequenceNumber(7), queue: mail, state: .dead, attempt: 2, attemptsMax: 2,
            enqueuedAt: Timestamp(microseconds: 0), payloadBytes: 0)
        let keys = ["a", "b"].map { DeadLetters.key(of: letter, in: StoreID(rawValue: $0)).key }
        #expect(keys == ["amazon-sqs dead a 7 2", "amazon-sqs dead b 7 2"])
    }

    /// A program with the file gives a message the key that a letter's copy would have; clients of the server may not.
    @Test func aKeyOfAnothersDoesNotMakeALetterVanish() async throws {
        try await withQueues { server in
            try await send("x", server)
            var letter = try await server.store.storage.messages(MessageQuery(queue: mail)).records[0]
            let store = try await server.store.storage.storeID()
            for attempt in 0...1 {
                letter.attempt = attempt
                let message = NewMessage(
                    payload: Array("y".utf8), uniqueKey: DeadLetters.key(of: letter, in: store))
                _ = try await server.store.storage.enqueue([message], to: dead, durability: .processCrash)
            }
            for message in try await server.sqsReceive("dead", ["MaxNumberOfMessages": 10]) {
                #expect(message.body == "y")
            }
            try await server.sqsFail("mail")
            #expect(try await bodies(server, "dead") == ["x"])
        }
    }

    /// Nobody waits for a letter that has died meanwhile until the next poll.
    @Test func aLetterThatDiesDuringALongPollIsGivenByIt() async throws {
        try await withQueues { server in
            try await send("x", server)
            let polled = Task { try await server.sqsReceive("dead", ["WaitTimeSeconds": 20]).map(\.body) }
            try await server.store.storage.changes.waitForWaiters()
            try await server.sqsFail("mail")
            #expect(try await polled.value == ["x"])
        }
    }

    @Test func aLetterIsKeptForAsLongAsItsQueueKeepsMessages() async throws {
        try await withQueues(dead: ["MessageRetentionPeriod": "600"]) { server in
            try await send("x", server)
            try await server.sqsFail("mail")
            try await server.sqsFail("dead")
            let copy = try await server.store.storage.messages(MessageQuery(queue: dead)).records.first
            #expect(try #require(copy?.expiresAt) - (try #require(copy?.enqueuedAt)) == .seconds(600))
        }
    }

    /// What a producer has sent to the dead-letter queue goes nowhere else, whatever it says of itself.
    @Test func aMoveTaskMovesDeadLettersAndNothingElse() async throws {
        try await withQueues { server in
            _ = try await server.sqsQueue("orders")
            try await send("x", server)
            try await server.sqsFail("mail")
            try await server.sqsFail("dead")
            for source in ["orders", "mail", "dead", "none"] {
                try await server.put(
                    "y", in: "dead", headers: ["Penstock-Header-amazon-sqs": "{\"source\":\"\(source)\"}"])
            }
            // More than one step takes lie before the letter, and one names a message of another queue as its origin.
            let others = (0..<150).map { _ in NewMessage(payload: [1], priority: 5) }
            let origin = try await server.store.storage.enqueue(others, to: dead, durability: .powerLoss)[0].sequence
            // Another one names the letter itself, and one a message that there never was.
            let letter = try #require(try await server.store.storage.messages(MessageQuery(queue: mail)).records.first)
            let forged = [origin, letter.sequence, SequenceNumber(9_000_000_000_000_000_000)].map {
                NewMessage(payload: [1], headers: ["amazon-sqs": "{\"source\":\"mail\"}"], origin: $0)
            }
            _ = try await server.store.storage.enqueue(forged, to: dead, durability: .powerLoss)
            try await server.sqsMove()
            #expect(try await server.depths(of: QueueName("orders"))?.waiting == 0)
            #expect(try await bodies(server, "mail") == ["x"])
            let left = try await server.store.storage.messages(MessageQuery(queue: dead, states: [.ready])).records
            #expect(left.count == 157)
            #expect(left.allSatisfy { $0.attempt == 0 })
        }
    }

    /// A receive that fails after its claim gives the messages back, and they do not count as received.
    @Test func aReceiveThatFailsBurnsNoAttempt() async throws {
        let storage = FaultyStore(TestDatabase().open())
        try await TestServer.run(store: PenstockStore(storage)) { server in
            let url = try await server.sqsQueue("box")
            try await server.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "x"])
            try await server.sqsFail(url)
            storage.fail(.messages)
            let input: [String: Any] = ["QueueUrl": url, "MessageSystemAttributeNames": ["All"]]
            #expect(try await server.sqsResponse("ReceiveMessage", input).status == 500)
            #expect(try await server.sqsReceive(url).first?.system("ApproximateReceiveCount") == "2")
        }
    }

    /// It would drop them, and they are lost once they are discarded where they died.
    @Test func aFullQueueThatDropsWhatArrivesTakesNoLetters() async throws {
        try await withQueues { server in
            let policy = QueuePolicy(capacity: Capacity(1, whenFull: .dropNewest))
            _ = try await server.store.storage.configure(dead, .set(policy, replacing: nil))
            for body in ["1", "2", "3"] { try await send(body, server) }
            try await server.sqsFail("mail")
            // One is received, which makes room for one more.
            for count in [1, 1] { #expect(try await bodies(server, "dead").count == count) }
            let (left, brought) = (try await server.depths(of: mail), try await server.depths(of: dead))
            #expect(left?.dead == 1 && brought?.leased == 2)
        }
    }

    /// Nobody has received them yet, so they are still where they died.
    @Test func aPurgeTakesTheLettersThatNobodyHasReceived() async throws {
        try await withQueues { server in
            for number in 1...12 { try await send("\(number)", server) }
            for _ in 1...2 { try await server.sqsFail("mail") }
            #expect(try await server.depths(of: mail)?.dead == 12)
            try await server.sqs("PurgeQueue", ["QueueUrl": "dead"])
            #expect(try await bodies(server, "dead") == [])
            #expect(try await server.depths(of: mail)?.dead == 0)
        }
    }
}
