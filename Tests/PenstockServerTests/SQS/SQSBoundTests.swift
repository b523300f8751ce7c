import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQS

/// What full queues do to messages on their way, and how much one request may ask for.
@Suite struct SQSBoundTests {
    private let mail = QueueName(stored: "mail")
    private let dead = QueueName(stored: "dead")

    private func withServer(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await TestServer.run(store: PenstockStore(TestDatabase().open()), body)
    }

    /// Both died in the queue `mail`, whose dead-letter queue is `dead`, and are still where they died.
    private func withTwoDeadLetters(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await withServer { server in
            _ = try await server.sqsQueue("dead")
            _ = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            try await send("1", "2", to: "mail", server)
            try await server.sqsFail("mail")
            try await body(server)
        }
    }

    private func send(_ bodies: String..., to queue: String, _ server: TestServer) async throws {
        for body in bodies { try await server.sqs("SendMessage", ["QueueUrl": queue, "MessageBody": body]) }
    }

    private func dropped(_ server: TestServer) async throws -> Int {
        var count = 0
        for queue in [mail, dead] {
            let query = MessageQuery(queue: queue, states: [.dropped])
            count += try await server.store.storage.messages(query).count
        }
        return count
    }

    private func bound(
        _ queue: QueueName, to count: Int, _ whenFull: OverflowPolicy, _ server: TestServer
    ) async throws {
        var policy = try #require(try await server.store.queues().first { $0.name == queue }?.policy)
        policy.capacity = Capacity(count, whenFull: whenFull)
        _ = try await server.store.storage.configure(queue, .set(policy, replacing: nil))
    }

    /// A decoder takes many bytes of memory for each value, however small it is, and also for those of members that nobody reads.
    @Test func aRequestHasNotMoreValuesThanOneOfTheAPI() async throws {
        try await withServer { server in
            _ = try await server.sqsQueue("mail")
            let values = String(repeating: "0,", count: 1_000_000) + "0"
            let body = #"{"QueueUrl":"mail","MessageBody":"1","More":["# + values + "]}"
            let response = try await server.request(
                "POST", "/", headers: ["X-Amz-Target": "AmazonSQS.SendMessage"], body: Data(body.utf8))
            #expect(response.status == 400 && response.text.contains("SerializationException"), "\(response.text)")
            #expect(response.text.contains("more than 1000000 values"))
            #expect(try await server.depths(of: mail)?.waiting == 0)
        }
    }

    /// What was dropped as it came was not sent, and its sender has to hear that.
    @Test func aMessageThatAFullQueueDropsWasNotSent() async throws {
        try await withServer { server in
            _ = try await server.sqsQueue("mail")
            try await bound(mail, to: 1, .dropNewest, server)
            try await send("1", to: "mail", server)
            let one = try await server.sqsResponse("SendMessage", ["QueueUrl": "mail", "MessageBody": "2"])
            #expect(one.status >= 400 && one.text.contains("RequestThrottled"))
            let entries = ["a", "b"].map { ["Id": $0, "MessageBody": "3"] }
            let batch = try await server.sqs("SendMessageBatch", ["QueueUrl": "mail", "Entries": entries])
            #expect((batch["Successful"] as? [Any])?.count == 0 && (batch["Failed"] as? [Any])?.count == 2)
        }
    }

    /// Neither the letters nor what waits in their queue may be lost by a move that finds no room.
    @Test(arguments: [OverflowPolicy.dropNewest, .dropOldest, .fail])
    func aMoveTakesNoMoreLettersThanHaveRoom(_ whenFull: OverflowPolicy) async throws {
        try await withTwoDeadLetters { server in
            // Both are brought over, and stay.
            #expect(try await server.sqsFail("dead").count == 2)
            try await bound(mail, to: 2, whenFull, server)
            try await send("new", to: "mail", server)
            let task = try await server.sqsMove()
            #expect(task["Status"] as? String == "FAILED")
            #expect((task["FailureReason"] as? String)?.contains("'mail'") == true)
            #expect(task["ApproximateNumberOfMessagesMoved"] as? Int == 1)
            #expect(try await server.depths(of: dead)?.waiting == 1)
            #expect(try await server.depths(of: mail)?.waiting == 2)
            #expect(try await dropped(server) == 0)
            #expect(try await server.sqsReceive("mail", ["MaxNumberOfMessages": 10]).map(\.body) == ["new", "1"])
            // Now there is room.
            #expect(try await server.sqsMove()["Status"] as? String == "COMPLETED")
            #expect(try await server.depths(of: dead)?.waiting == 0)
        }
    }

    /// Letters that nobody has received are still where they died, and go back in line there.
    @Test(arguments: [OverflowPolicy.dropNewest, .dropOldest, .fail])
    func aMoveTakesNoMoreLettersThanHaveRoomFromWhereTheyDied(_ whenFull: OverflowPolicy) async throws {
        try await withTwoDeadLetters { server in
            try await bound(mail, to: 2, whenFull, server)
            try await send("new", to: "mail", server)
            let task = try await server.sqsMove()
            #expect(task["Status"] as? String == "FAILED")
            #expect((task["FailureReason"] as? String)?.contains("'mail'") == true)
            #expect(task["ApproximateNumberOfMessagesMoved"] as? Int == 1)
            let here = try await server.depths(of: mail)
            #expect(here?.waiting == 2 && here?.dead == 1)
            // Now there is room.
            #expect(try await server.sqsReceive("mail", ["MaxNumberOfMessages": 10]).count == 2)
            #expect(try await server.sqsMove()["Status"] as? String == "COMPLETED")
            #expect(try await dropped(server) == 0)
        }
    }

    /// A server that was killed between the copying and the discarding of a letter leaves both, and the copy may be dropped before the
    /// next look. That is no word on room.
    @Test func aCopyThatWasDroppedStopsNoOtherLetter() async throws {
        try await withTwoDeadLetters { server in
            let letters = try await server.store.storage.messages(MessageQuery(queue: mail, states: [.dead])).records
            let first = try #require(letters.first)
            try await bound(dead, to: 1, .dropOldest, server)
            let key = DeadLetters.key(of: first, in: try await server.store.storage.storeID())
            for copy in [
                NewMessage(payload: [0x31], uniqueKey: key, origin: first.sequence), NewMessage(payload: [0x30]),
            ] {
                _ = try await server.store.storage.enqueue([copy], to: dead, durability: .processCrash)
            }
            try await bound(dead, to: 10, .dropOldest, server)
            #expect(try await dropped(server) == 1)
            var bodies: Set<String> = []
            for _ in 1...2 {
                bodies.formUnion(try await server.sqsReceive("dead", ["MaxNumberOfMessages": 10]).compactMap(\.body))
            }
            #expect(bodies == ["0", "1", "2"])
        }
    }

    @Test func aFullQueueStopsTheLettersOfNoOther() async throws {
        try await withServer { server in
            _ = try await server.sqsQueue("dead")
            for name in ["full", "mail"] { _ = try await server.sqsQueue(name, withDeadLettersIn: "dead") }
            for name in ["full", "mail"] {
                try await send(name, to: name, server)
                try await server.sqsFail(name)
            }
            #expect(try await server.sqsFail("dead").count == 2)
            try await send("dies later", to: "mail", server)
            try await server.sqsFail("mail")
            try await bound(QueueName(stored: "full"), to: 1, .fail, server)
            try await send("new", to: "full", server)
            let task = try await server.sqsMove()
            #expect(task["Status"] as? String == "FAILED" && task["ApproximateNumberOfMessagesMoved"] as? Int == 2)
            #expect(try await server.depths(of: mail)?.waiting == 2)
        }
    }

    @Test func ofATaskThatFailsHalfWayItIsToldWhatItHasMoved() async throws {
        let storage = FaultyStore(TestDatabase().open())
        try await TestServer.run(store: PenstockStore(storage)) { server in
            _ = try await server.sqsQueue("dead")
            _ = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            try await send("1", to: "mail", server)
            try await server.sqsFail("mail")
            #expect(try await server.sqsFail("dead").count == 1)
            // This one is still where it died.
            try await send("2", to: "mail", server)
            try await server.sqsFail("mail")
            storage.fail(.apply)
            let source = ["SourceArn": TestServer.arn("dead")]
            #expect(try await server.sqsResponse("StartMessageMoveTask", source).status == 500)
            let task = try await server.sqsLastMove()
            #expect(task["Status"] as? String == "FAILED" && task["FailureReason"] is String)
            #expect(task["ApproximateNumberOfMessagesMoved"] as? Int == 1)
        }
    }

    /// It would drop the oldest of them for each that comes, and nobody has seen those.
    @Test func aFullQueueThatDropsItsOldestTakesNoMoreLettersThanHaveRoom() async throws {
        try await withServer { server in
            _ = try await server.sqsQueue("dead")
            _ = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            try await bound(dead, to: 2, .dropOldest, server)
            try await send("1", "2", "3", "4", "5", to: "mail", server)
            try await server.sqsFail("mail")
            #expect(try await server.sqsReceive("dead", ["MaxNumberOfMessages": 10]).map(\.body) == ["1", "2"])
            #expect(try await server.depths(of: mail)?.dead == 3)
            #expect(try await dropped(server) == 0)
        }
    }

    @Test func aNameMayHaveColons() {
        #expect(ARN.name(in: "arn:aws:sqs:eu-west-1:000000000000:team:dlq") == "team:dlq")
        #expect(ARN.name(in: "arn:aws:sqs:eu-west-1:000000000000:dlq") == "dlq")
        #expect(ARN.name(in: "team:dlq") == "team:dlq")
    }

    @Test func attributesAreAskedForByNamesAndBeginnings() {
        let attributes: MessageAttributes = ["a.b": AttributeValue(), "a": AttributeValue(), "b": AttributeValue()]
        func asked(_ names: String...) -> [String] { attributes.asked(for: AskedAttributes(names)).keys.sorted() }
        #expect(asked() == [])
        #expect(asked("b", "zzz") == ["b"])
        #expect(asked("a.*") == ["a", "a.b"])
        #expect(asked("a.b.*", "zzz.*") == ["a.b"])
        for all in ["All", ".*"] { #expect(asked(all) == ["a", "a.b", "b"]) }
    }

    /// Its body and its attributes together.
    @Test func aMessageIsNotLargerThanItsQueueTakes() async throws {
        try await withServer { server in
            let url = try await server.sqsQueue("mail", ["MaximumMessageSize": "1024"])
            /// With an attribute of 10 bytes beside its value.
            func message(_ count: Int, value: Int) -> [String: Any] {
                let kind = ["DataType": "String", "StringValue": String(repeating: "x", count: value)]
                let attributes: [String: [String: String]] = value == 0 ? [:] : ["kind": kind]
                let body = String(repeating: "x", count: count)
                return ["Id": "a", "MessageBody": body, "MessageAttributes": attributes]
            }
            for good in [message(1024, value: 0), message(1000, value: 14)] {
                try await server.sqs("SendMessage", good.merging(["QueueUrl": url]) { $1 })
            }
            for large in [message(1025, value: 0), message(1000, value: 15)] {
                try await server.sqsRefuses(
                    "SendMessage", large.merging(["QueueUrl": url]) { $1 }, "InvalidParameterValue")
                let batch = try await server.sqs("SendMessageBatch", ["QueueUrl": url, "Entries": [large]])
                #expect((batch["Failed"] as? [[String: Any]])?.map { $0["Id"] as? String } == ["a"])
            }
            #expect(try await server.depths(of: mail)?.waiting == 2)
        }
    }

    @Test func theMessagesOfABatchAreTogetherAsLargeAsOneMayBe() async throws {
        try await withServer { server in
            let url = try await server.sqsQueue("mail")
            func batch(_ counts: Int...) -> [String: Any] {
                let entries = counts.enumerated().map {
                    ["Id": "\($0.offset)", "MessageBody": String(repeating: "x", count: $0.element)]
                }
                return ["QueueUrl": url, "Entries": entries]
            }
            let half = MessageBody.bytesMax / 2
            try await server.sqsRefuses(
                "SendMessageBatch", batch(half, half + 1), "BatchRequestTooLong",
                code: "AWS.SimpleQueueService.BatchRequestTooLong")
            #expect(try await server.depths(of: mail)?.waiting == 0)
            let answer = try await server.sqs("SendMessageBatch", batch(half, half))
            #expect((answer["Successful"] as? [Any])?.count == 2)
        }
    }

    @Test func aQueueHasFiftyTagsAndNoLongOnes() async throws {
        try await withServer { server in
            _ = try await server.sqsQueue("mail")
            func text(_ count: Int) -> String { String(repeating: "x", count: count) }
            func input(_ tags: [String: String]) -> [String: Any] { ["QueueUrl": "mail", "Tags": tags] }
            let many = Dictionary(uniqueKeysWithValues: (1...51).map { ("\($0)", "") })
            for tags in [many, [text(129): "x"], ["": "x"], ["x": text(257)]] {
                try await server.sqsRefuses("TagQueue", input(tags), "InvalidParameterValue")
            }
            try await server.sqs("TagQueue", input([text(128): text(256)]))
            // With the one that is there, these are fifty.
            try await server.sqs("TagQueue", input(many.filter { Int($0.key) ?? 0 < 50 }))
            try await server.sqsRefuses("TagQueue", input(["50": ""]), "InvalidParameterValue")
            let tags = try await server.sqs("ListQueueTags", ["QueueUrl": "mail"])["Tags"] as? [String: String]
            #expect(tags?.count == 50)
        }
    }

    /// What is no message is small, and of a batch no more is read than may be.
    @Test func aRequestThatAsksForTooMuchIsRefused() async throws {
        try await withServer { server in
            _ = try await server.sqsQueue("mail")
            let names = Array(repeating: "z", count: 100_000)
            let response = try await server.sqsResponse(
                "ReceiveMessage", ["QueueUrl": "mail", "MessageAttributeNames": names])
            #expect(response.status == 413)
            let entries = Array(repeating: [String: String](), count: 11)
            try await server.sqsRefuses(
                "SendMessageBatch", ["QueueUrl": "mail", "Entries": entries], "TooManyEntriesInBatchRequest",
                code: "AWS.SimpleQueueService.TooManyEntriesInBatchRequest")
        }
    }
}
