import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQS

@Suite struct SQSMessageTests {
    @Test func aMessageComesAsItWasSent() async throws {
        try await TestServer.run { server in
            let url = try await server.sqsQueue("mail")
            let attributes: [String: [String: String]] = [
                "kind": ["DataType": "String", "StringValue": "mail"],
                "Kind": ["DataType": "Number", "StringValue": "7"],
                "bytes": ["DataType": "Binary", "BinaryValue": "AAH/"],
            ]
            let sent = try await server.sqs(
                "SendMessage", ["QueueUrl": url, "MessageBody": "hello é\u{202E}\"\\", "MessageAttributes": attributes])
            #expect(sent["MD5OfMessageAttributes"] as? String == "efcd2123e80a23b25355f693f70dd4a7")
            let received = try #require(try await server.sqsReceive(url, ["MessageAttributeNames": ["All"]]).first)
            #expect(received.body == "hello é\u{202E}\"\\")
            #expect(received["MessageAttributes"] as? [String: [String: String]] == attributes)
            #expect(received["MD5OfMessageAttributes"] as? String == "efcd2123e80a23b25355f693f70dd4a7")
            #expect(received["MessageId"] as? String == sent["MessageId"] as? String)
            #expect(received["MD5OfBody"] as? String == sent["MD5OfMessageBody"] as? String)
            #expect(received.system("ApproximateReceiveCount") == "1")
            #expect(try await server.sqs("ReceiveMessage", ["QueueUrl": url]).isEmpty, "No member where there is none.")
        }
    }

    @Test(arguments: [
        ("a.b-c_D", "String", "é"), ("a", "String.kind.of", "x"), ("a", "Number", "-12.50"),
        ("a", "Number.int", "+7"), ("a", "Number", "1e-5"), ("a", "Number", ".5E10"),
        ("a", "String." + String(repeating: "x", count: 249), "x"),
    ])
    func anAttributeThatAmazonTakesIsTaken(name: String, type: String, value: String) async throws {
        try await TestServer.run { server in
            let url = try await server.sqsQueue("mail")
            let attributes = [name: ["DataType": type, "StringValue": value]]
            try await server.sqs(
                "SendMessage", ["QueueUrl": url, "MessageBody": "x", "MessageAttributes": attributes])
            let received = try await server.sqsReceive(url, ["MessageAttributeNames": ["All"]]).first
            #expect(received?["MessageAttributes"] as? [String: [String: String]] == attributes)
        }
    }

    @Test(arguments: [
        (".a", "String", "x"), ("a.", "String", "x"), ("a..b", "String", "x"), (".", "String", "x"),
        ("a", ".String", "x"), ("a", "", "x"), ("a", "Text", "x"), ("a", "String.\0", "x"),
        ("a", "String." + String(repeating: "x", count: 250), "x"), ("a", "String", "x\0"), ("a", "String", "\u{FFFE}"),
        ("a", "Number", "abc"), ("a", "Number", "1 "), ("a", "Number.x", "0x1F"), ("a", "Number", "."),
        ("a", "Number", "1e"), ("a", "Number", "1.2.3"), ("a", "Number", "--1"), ("a", "Number", "NaN"),
    ])
    func anAttributeThatAmazonRefusesIsRefused(name: String, type: String, value: String) async throws {
        try await TestServer.run { server in
            let url = try await server.sqsQueue("mail")
            let attributes = [name: ["DataType": type, "StringValue": value]]
            let response = try await server.sqsResponse(
                "SendMessage", ["QueueUrl": url, "MessageBody": "x", "MessageAttributes": attributes])
            #expect(response.status == 400, "\(response.text)")
            #expect(try await server.store.queues().map(\.depths.ready) == [0])
        }
    }

    @Test func entriesOfABatchStandAlone() async throws {
        try await TestServer.run { server in
            let url = try await server.sqsQueue("mail")
            let entries: [[String: Any]] = [
                ["Id": "a", "MessageBody": "1"], ["Id": "b", "MessageBody": ""], ["Id": "c", "MessageBody": "\u{1}"],
                ["Id": "d", "MessageBody": "2", "DelaySeconds": 901],
            ]
            let answer = try await server.sqs("SendMessageBatch", ["QueueUrl": url, "Entries": entries])
            #expect((answer["Successful"] as? [[String: Any]])?.map { $0["Id"] as? String } == ["a"])
            let failed = answer["Failed"] as? [[String: Any]] ?? []
            #expect(
                failed.map { $0["Code"] as? String } == [
                    "MissingParameter", "InvalidMessageContents", "InvalidParameterValue",
                ])
            for (entries, type) in [
                ([], "EmptyBatchRequest"), ([entries[0], entries[0]], "BatchEntryIdsNotDistinct"),
                ([["Id": "a b", "MessageBody": "x"]], "InvalidBatchEntryId"),
                ((0..<11).map { ["Id": "\($0)", "MessageBody": "x"] }, "TooManyEntriesInBatchRequest"),
            ] as [([[String: Any]], String)] {
                try await server.sqsRefuses(
                    "SendMessageBatch", ["QueueUrl": url, "Entries": entries], type,
                    code: "AWS.SimpleQueueService." + type)
            }
        }
    }

    @Test func whatIsNoTextComesInBase64() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("jobs")
        try await queue.enqueue([0xFF, 0x00])
        try await TestServer.run(store: store) { server in
            let received = try #require(
                try await server.sqsReceive("jobs", ["MessageAttributeNames": ["All"]]).first)
            #expect(received.body == "/wA=")
            let attributes = received["MessageAttributes"] as? [String: [String: String]]
            #expect(attributes?["penstock-encoding"]?["StringValue"] == "base64")
        }
    }

    @Test func aLongPollEndsWithTheFirstMessage() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await TestServer.run(store: store) { server in
            let url = try await server.sqsQueue("mail")
            let received = Task { try await server.sqsReceive(url, ["WaitTimeSeconds": 20]).map(\.body) }
            try await store.storage.changes.waitForWaiters()
            try await server.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "now"])
            #expect(try await received.value == ["now"])
        }
    }

    @Test func aClientThatLeavesItsLongPollBurnsNothing() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await TestServer.run(store: store) { server in
            let url = try await server.sqsQueue("mail")
            let left = Task { try await server.sqsReceive(url, ["WaitTimeSeconds": 20]).count }
            try await store.storage.changes.waitForWaiters()
            left.cancel()
            _ = await left.result
            // The server has heard of it when nobody waits any more.
            try await eventually { store.storage.changes.waiterCount == 0 }
            try await server.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "once"])
            let received = try #require(try await server.sqsReceive(url, ["WaitTimeSeconds": 20]).first)
            #expect(received.system("ApproximateReceiveCount") == "1")
        }
    }

    @Test func aLongPollIsAnsweredWhenTheServerIsToldToStop() async throws {
        let store = PenstockStore(TestDatabase().open())
        let (polls, continuation) = AsyncStream.makeStream(of: Task<Int, any Error>.self)
        try await TestServer.run(store: store) { server in
            let url = try await server.sqsQueue("mail")
            continuation.yield(Task { try await server.sqsReceive(url, ["WaitTimeSeconds": 20]).count })
            try await store.storage.changes.waitForWaiters()
        }
        var poll = polls.makeAsyncIterator()
        #expect(try await poll.next()?.value == 0)
    }

    @Test func aFIFOQueueKeepsGroupsInOrderAndSendsOnce() async throws {
        try await TestServer.run { server in
            let url = try await server.sqsQueue(
                "f.fifo", ["FifoQueue": "true", "ContentBasedDeduplication": "true"])
            try await server.sqsRefuses("SendMessage", ["QueueUrl": url, "MessageBody": "x"], "MissingParameter")
            var ids: [String?] = []
            for (body, group) in [("1", "g"), ("2", "g"), ("1", "g"), ("3", "h")] {
                let sent = try await server.sqs(
                    "SendMessage", ["QueueUrl": url, "MessageBody": body, "MessageGroupId": group])
                #expect((sent["SequenceNumber"] as? String)?.count == 20)
                ids.append(sent["MessageId"] as? String)
            }
            #expect(ids[0] == ids[2])
            let first = try await server.sqsReceive(url, ["MaxNumberOfMessages": 10])
            #expect(first.map(\.body) == ["1", "3"])
            #expect(first.map { $0.system("MessageGroupId") } == ["g", "h"])
            #expect(try await server.sqsReceive(url).isEmpty)
            try await server.sqs("DeleteMessage", ["QueueUrl": url, "ReceiptHandle": first[0].handle])
            #expect(try await server.sqsReceive(url).map(\.body) == ["2"])
        }
    }

    @Test func deadLettersAreReceivedFromTheirQueueAndMovedBack() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await TestServer.run(store: store) { server in
            let dead = try await server.sqsQueue("dead")
            let url = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            for body in ["one", "two"] { try await server.sqs("SendMessage", ["QueueUrl": url, "MessageBody": body]) }
            let died = try await server.sqsReceive(url, ["VisibilityTimeout": 0, "MaxNumberOfMessages": 10])
            #expect(died.count == 2)
            #expect(try await store.queues().map(\.depths.dead) == [0, 2])
            let depth = try await server.sqs(
                "GetQueueAttributes", ["QueueUrl": dead, "AttributeNames": ["ApproximateNumberOfMessages"]])
            #expect(depth["Attributes"] as? [String: String] == ["ApproximateNumberOfMessages": "2"])
            let letter = try #require(try await server.sqsReceive(dead).first)
            #expect(letter.body == "one")
            #expect(letter["MessageId"] as? String == died[0]["MessageId"] as? String)
            #expect(letter.system("DeadLetterQueueSourceArn")?.hasSuffix(":mail") == true)
            try await server.sqs("DeleteMessage", ["QueueUrl": dead, "ReceiptHandle": letter.handle])
            try await server.sqsMove()
            #expect(try await server.sqsReceive(dead).isEmpty)
            #expect(try await server.sqsReceive(url, ["MaxNumberOfMessages": 10]).map(\.body) == ["two"])
        }
    }
}
