import Foundation
import Penstock
import PenstockCore
import PenstockFormats
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQS

@Suite struct SQSQueueTests {
    @Test func aQueueIsMadeOnce() async throws {
        try await TestServer.run { server in
            let url = try await server.sqsQueue("mail", ["VisibilityTimeout": "60"])
            #expect(url == server.url.absoluteString + "/000000000000/mail")
            #expect(try await server.sqsQueue("mail", ["VisibilityTimeout": "60"]) == url)
            #expect(try await server.sqsQueue("mail") == url)
            try await server.sqsRefuses(
                "CreateQueue", ["QueueName": "mail", "Attributes": ["VisibilityTimeout": "61"]], "QueueNameExists",
                code: "QueueAlreadyExists")
            for wrong in ["a b", "", String(repeating: "x", count: 81), "x.fifo", "ä"] {
                try await server.sqsRefuses(
                    "CreateQueue", ["QueueName": wrong], wrong.isEmpty ? "MissingParameter" : "InvalidParameterValue")
            }
        }
    }

    /// Other programs may give a queue such a name, and its ARN is told.
    @Test func anARNNamesAQueueWithColonsInItsName() async throws {
        try await TestServer.run { server in
            for name in ["team:dlq", "dlq"] { _ = try await server.store.queue(name) }
            _ = try await server.sqsQueue("jobs", withDeadLettersIn: "team:dlq")
            try await server.sqs("SendMessage", ["QueueUrl": "jobs", "MessageBody": "x"])
            try await server.sqsFail("jobs")
            #expect(try await server.sqsReceive("dlq").isEmpty)
            #expect(try await server.sqsReceive("team:dlq").map(\.body) == ["x"])
        }
    }

    /// A client is told ARNs of its own region.
    @Test func aRedrivePolicyIsTheSameInAllRegions() async throws {
        try await TestServer.run { server in
            for name in ["dead", "other"] { _ = try await server.sqsQueue(name) }
            let url = try await server.sqsQueue("jobs", withDeadLettersIn: "dead")
            let policy = TestServer.redrivePolicy(to: "dead").replacingOccurrences(of: "us-east-1", with: "eu-west-1")
            #expect(try await server.sqsQueue("jobs", ["RedrivePolicy": policy]) == url)
            for different in [TestServer.redrivePolicy(to: "other"), TestServer.redrivePolicy(to: "dead", after: 2)] {
                try await server.sqsRefuses(
                    "CreateQueue", ["QueueName": "jobs", "Attributes": ["RedrivePolicy": different]],
                    "QueueNameExists", code: "QueueAlreadyExists")
            }
        }
    }

    /// Its clients try again by themselves.
    @Test func aStoreThatDoesNotAllowTheServerSomethingIsAway() async throws {
        let storage = FaultyStore(TestDatabase().open())
        try await TestServer.run(store: PenstockStore(storage)) { server in
            storage.fail(.configure, with: PenstockError(.forbidden, "The database does not allow it."))
            let response = try await server.sqsResponse("CreateQueue", ["QueueName": "mail"])
            #expect(response.status == 503)
            #expect(response.header("x-amzn-query-error") == "ServiceUnavailable;Receiver")
        }
    }

    @Test func attributesAndTagsAreOfTheQueueAndSeenByOtherServers() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await TestServer.run(store: store) { server in
            let url = try await server.sqsQueue("mail", ["DelaySeconds": "5"])
            try await server.sqs("SetQueueAttributes", ["QueueUrl": url, "Attributes": ["VisibilityTimeout": "7"]])
            try await server.sqs("TagQueue", ["QueueUrl": url, "Tags": ["team": "shop", "stage": "test"]])
            try await server.sqs("UntagQueue", ["QueueUrl": url, "TagKeys": ["stage"]])
        }
        #expect(try await store.storage.status(of: nil).cursors.count == 1, "Older versions go.")
        try await TestServer.run(store: store) { server in
            let all = try await server.sqs("GetQueueAttributes", ["QueueUrl": "mail", "AttributeNames": ["All"]])
            let attributes = try #require(all["Attributes"] as? [String: String])
            #expect(attributes["VisibilityTimeout"] == "7")
            #expect(attributes["DelaySeconds"] == "5")
            #expect(attributes["QueueArn"] == "arn:aws:sqs:us-east-1:000000000000:mail")
            #expect(attributes["CreatedTimestamp"] != nil)
            let tags = try await server.sqs("ListQueueTags", ["QueueUrl": "mail"])
            #expect(tags["Tags"] as? [String: String] == ["team": "shop"])
        }
        try await store.delete(QueueName("mail"))
        #expect(try await store.storage.status(of: nil).cursors.isEmpty, "What was said of it goes with it.")
    }

    /// A dictionary of texts would take them for one.
    @Test func tagsWhoseKeysDifferInHowAnAccentIsWrittenAreTwo() async throws {
        try await TestServer.run { server in
            func call(_ action: String, _ input: String) async throws -> TestResponse {
                let response = try await server.request(
                    "POST", "/", headers: ["X-Amz-Target": "AmazonSQS." + action], body: Data(input.utf8))
                #expect(response.status == 200, "\(response.text)")
                return response
            }
            /// The tags by the order of their keys' bytes, each with the number of its key's scalars.
            func tags() async throws -> [String] {
                let answer = Array(try await call("ListQueueTags", #"{"QueueUrl":"mail"}"#).body)
                let tags = JSONSpans.member("Tags", of: answer[...]).flatMap { JSONSpans.texts(of: $0) } ?? []
                return tags.map { "\($0.name.unicodeScalars.count) \($0.value)" }
            }
            _ = try await call("CreateQueue", #"{"QueueName":"mail","tags":{"\u00e9":"1","e\u0301":"2"}}"#)
            #expect(try await tags() == ["2 2", "1 1"])
            _ = try await call("TagQueue", #"{"QueueUrl":"mail","Tags":{ "e\u0301" : "3" }}"#)
            #expect(try await tags() == ["2 3", "1 1"])
            _ = try await call("UntagQueue", #"{"QueueUrl":"mail","TagKeys":["e\u0301"]}"#)
            #expect(try await tags() == ["1 1"])
            _ = try await call("TagQueue", #"{"QueueUrl":"mail","Tags":{"e\u0301":"4","\u00e9":"5"}}"#)
            #expect(try await tags() == ["2 4", "1 5"])
        }
    }

    /// It would be one that is behind for ever.
    @Test func aQueuesNoteIsNotShownAsAReaderOfItsLog() async throws {
        try await TestServer.run { server in
            _ = try await server.sqsQueue("mail", ["DelaySeconds": "5"])
            _ = try await server.store.storage.moveCursor(
                CursorName("archive"), of: QueueName("mail"), .place(after: nil))
            for path in ["/queues/mail", "/metrics"] {
                let text = try await server.page(path).text
                #expect(text.contains("archive") && !text.contains("amazon-sqs."), "\(path)")
            }
        }
    }

    /// Whatever stands in the place of a queue's note: what cannot be is passed over, and nothing stops the server.
    @Test func ofANoteOnlyWhatCanBeIsRead() async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("mail")
        @Sendable func place(_ version: String, _ note: String) async throws {
            _ = try await store.storage.moveCursor(
                CursorName("amazon-sqs." + version), of: QueueName("mail"), .place(after: nil, note: note))
        }
        try await TestServer.run(store: store) { server in
            func attributes() async throws -> [String: String] {
                let all = try await server.sqs("GetQueueAttributes", ["QueueUrl": "mail", "AttributeNames": ["All"]])
                return all["Attributes"] as? [String: String] ?? [:]
            }
            let foreign = #"{"attributes": {"DelaySeconds": "9"}, "tags": {}}"#
            for version in ["9223372036854775807", "9223372036854775806", "07", "+7", "-1", "0", ""] {
                try await place(version, foreign)
            }
            #expect(try await attributes()["DelaySeconds"] == "0")
            try await place(
                "5",
                #"""
                {"attributes": {"MessageRetentionPeriod": "1", "VisibilityTimeout": "43201", "DelaySeconds": "8", "X": "y",
                "RedrivePolicy": "{}"}, "tags": {}, "delayedUntil": 9223372036854775807}
                """#)
            let read = try await attributes()
            #expect(read["DelaySeconds"] == "8")
            #expect(read["MessageRetentionPeriod"] == "345600")
            #expect(read["VisibilityTimeout"] == "30")
            #expect(read["RedrivePolicy"] == nil && read["X"] == nil)
            try await server.sqs("TagQueue", ["QueueUrl": "mail", "Tags": ["a": "b"]])
            #expect(try await attributes()["DelaySeconds"] == "8")
            try await place("1000000000000000", foreign)
            try await server.sqsRefuses("TagQueue", ["QueueUrl": "mail", "Tags": ["a": "c"]], "OverLimit")
        }
    }

    /// Swift takes two ways to write an accent for one text; queues are two.
    @Test func aDeadLetterQueueIsTheOneWithTheSameBytes() async throws {
        let store = PenstockStore(TestDatabase().open())
        let names = ["d\u{E9}ad", "de\u{301}ad"]
        for name in names { _ = try await store.queue(name) }
        try await TestServer.run(store: store) { server in
            _ = try await server.sqsQueue("mail", withDeadLettersIn: names[0])
            for (name, count) in zip(names, [1, 0]) {
                let sources = try await server.sqs("ListDeadLetterSourceQueues", ["QueueUrl": name])["queueUrls"]
                #expect((sources as? [String])?.count == count)
            }
        }
    }

    @Test func changesAtTheSameTimeUndoNothingOfEachOther() async throws {
        try await TestServer.run { server in
            let url = try await server.sqsQueue("mail")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask { try await server.sqs("TagQueue", ["QueueUrl": url, "Tags": ["t\(number)": "x"]]) }
                }
                try await group.waitForAll()
            }
            let tags = try await server.sqs("ListQueueTags", ["QueueUrl": url])["Tags"] as? [String: String]
            #expect(tags?.count == 8)
        }
    }

    @Test func aQueueOfTheCommandIsServedByItsOwnPolicy() async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("jobs", policy: QueuePolicy(retry: RetryPolicy(attemptsMax: 3)))
        try await TestServer.run(store: store) { server in
            let url = try await server.sqsQueue("jobs")
            #expect(try await store.storage.status(of: nil).cursors.isEmpty, "A look says nothing of it.")
            try await server.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "x"])
            #expect(try await server.sqsReceive(url).map(\.body) == ["x"])
            #expect(try await store.queues().first?.policy.retry.attemptsMax == 3)
        }
    }

    @Test func whatIsNotThereOrNotKnownIsRefused() async throws {
        try await TestServer.run { server in
            for action in ["SendMessage", "ReceiveMessage", "DeleteQueue", "PurgeQueue", "ListQueueTags"] {
                try await server.sqsRefuses(
                    action, ["QueueUrl": "none", "MessageBody": "x"], "QueueDoesNotExist",
                    code: "AWS.SimpleQueueService.NonExistentQueue")
            }
            try await server.sqsRefuses("Dance", [:], "UnknownOperationException")
            try await server.sqsRefuses(
                "AddPermission", [:], "UnsupportedOperation", code: "AWS.SimpleQueueService.UnsupportedOperation")
            try await server.sqsRefuses("SendMessage", ["QueueUrl": 7], "SerializationException")
            let url = try await server.sqsQueue("mail")
            for (name, value, type) in [
                ("Nothing", "1", "InvalidAttributeName"), ("DelaySeconds", "901", "InvalidAttributeValue"),
                ("VisibilityTimeout", "-1", "InvalidAttributeValue"),
                ("FifoThroughputLimit", "perQueue", "InvalidAttributeName"),
                ("RedrivePolicy", "{}", "InvalidParameterValue"),
            ] {
                try await server.sqsRefuses(
                    "SetQueueAttributes", ["QueueUrl": url, "Attributes": [name: value]], type)
            }
        }
    }

    @Test func queuesAreListedByPages() async throws {
        try await TestServer.run { server in
            for name in ["a1", "a2", "a3", "b1"] { _ = try await server.sqsQueue(name) }
            let first = try await server.sqs("ListQueues", ["QueueNamePrefix": "a", "MaxResults": 2])
            #expect((first["QueueUrls"] as? [String])?.count == 2)
            let token = try #require(first["NextToken"] as? String)
            let second = try await server.sqs(
                "ListQueues", ["QueueNamePrefix": "a", "MaxResults": 2, "NextToken": token])
            #expect((second["QueueUrls"] as? [String])?.map { $0.suffix(2) } == ["a3"])
            #expect(second["NextToken"] == nil)
        }
    }

    /// Of a store with very many queues a client asks for one.
    @Test func aLookAtOneQueueAsksForNoOther() async throws {
        let counted = CountingStore(TestDatabase().open())
        let time = ManualTime()
        let directory = QueueDirectory(store: counted, time: time)
        let (mail, dead) = (QueueName(stored: "mail"), QueueName(stored: "dead"))
        for queue in [mail, dead, QueueName(stored: "other")] {
            try await counted.configure(queue, .create(QueuePolicy(), ifAbsent: false))
        }
        try await directory.change(mail) { $0.attributes["RedrivePolicy"] = TestServer.redrivePolicy(to: "dead") }
        func asked(_ queue: QueueName, _ count: Int) async throws -> [QueueName?] {
            counted.statuses.withLock { $0 = [] }
            #expect(try await directory.deadOfSources(of: queue) == count)
            return counted.statuses.withLock { $0 }
        }
        #expect(try await asked(dead, 0) == [nil, mail])
        _ = try await counted.enqueue([NewMessage(payload: [1])], to: mail, durability: .processCrash)
        let claim = try await counted.claim(ClaimRequest(queue: mail, limit: 1, lease: .seconds(30)))
        let lease = try #require(claim.messages.first).lease
        _ = try await counted.settle([Settlement(lease, .dead(error: "e"))])
        #expect(try await asked(dead, 1) == [mail], "What they have is asked anew.")
        #expect(try await asked(mail, 0) == [])
        time.advance(by: .seconds(1))
        #expect(try await asked(dead, 1) == [nil, mail], "Others may have set a policy meanwhile.")
    }

    /// What does not have letters of others in it asks for none.
    @Test func attributesThatAreNoCountAskForNoOtherQueue() async throws {
        let counted = CountingStore(TestDatabase().open())
        try await TestServer.run(store: PenstockStore(counted)) { server in
            _ = try await server.sqsQueue("dead")
            _ = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            let mail = QueueName(stored: "mail")
            for (name, others) in [("QueueArn", 0), ("ApproximateNumberOfMessages", 1)] {
                counted.statuses.withLock { $0 = [] }
                try await server.sqs("GetQueueAttributes", ["QueueUrl": "dead", "AttributeNames": [name]])
                #expect(counted.statuses.withLock { $0.count { $0 == mail } } == others, "\(name)")
            }
        }
    }
}
