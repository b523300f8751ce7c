import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQS

/// What a move task says of letters that it leaves where they are.
@Suite struct SQSMoveTaskTests {
    private let mail = QueueName(stored: "mail")
    private let dead = QueueName(stored: "dead")

    /// Calls `body` with a server on which two letters of the queue `mail` were brought into the queue `dead`, and wait there.
    private func withTwoLetters(
        _ storage: any MessageStore = TestDatabase().open(),
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        try await TestServer.run(store: PenstockStore(storage)) { server in
            _ = try await server.sqsQueue("dead")
            _ = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            for body in ["1", "2"] { try await server.sqs("SendMessage", ["QueueUrl": "mail", "MessageBody": body]) }
            try await server.sqsFail("mail")
            #expect(try await server.sqsFail("dead").count == 2)
            try await body(server)
        }
    }

    @Test func aPausedQueueGivesNoLetters() async throws {
        try await withTwoLetters { server in
            _ = try await server.store.storage.configure(dead, .pause)
            let task = try await server.sqsMove()
            #expect(task["Status"] as? String == "FAILED")
            #expect((task["FailureReason"] as? String)?.contains("'dead' is paused") == true)
            #expect(task["ApproximateNumberOfMessagesMoved"] as? Int == 0)
            #expect(task["ApproximateNumberOfMessagesToMove"] as? Int == 2)
            _ = try await server.store.storage.configure(dead, .resume)
            let next = try await server.sqsMove()
            #expect(next["Status"] as? String == "COMPLETED" && next["FailureReason"] == nil)
            #expect(next["ApproximateNumberOfMessagesMoved"] as? Int == 2)
            #expect(try await server.depths(of: mail)?.waiting == 2)
        }
    }

    /// What has no letters is done, whatever may not start of it.
    @Test func messagesThatAreNoLettersAreNotMissed() async throws {
        try await TestServer.run(store: PenstockStore(TestDatabase().open())) { server in
            _ = try await server.sqsQueue("dead")
            _ = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            try await server.sqs("SendMessage", ["QueueUrl": "dead", "MessageBody": "its own"])
            _ = try await server.store.storage.configure(dead, .pause)
            #expect(try await server.sqsMove()["Status"] as? String == "COMPLETED")
        }
    }

    @Test func aRateKeepsLettersBack() async throws {
        try await withTwoLetters { server in
            var policy = try #require(try await server.store.queues().first { $0.name == dead }?.policy)
            policy.rate = Rate(1, per: .seconds(86_400))
            _ = try await server.store.storage.configure(dead, .set(policy, replacing: nil))
            let task = try await server.sqsMove()
            #expect(task["Status"] as? String == "FAILED")
            #expect((task["FailureReason"] as? String)?.contains("rate or limit") == true)
            #expect(task["ApproximateNumberOfMessagesToMove"] as? Int == 2)
            #expect(try #require(try await server.depths(of: dead)).waiting > 0)
        }
    }

    /// A message of its own goes nowhere, and a letter of the same group is behind it.
    @Test func aLetterBehindAMessageThatStaysIsMissed() async throws {
        try await TestServer.run(store: PenstockStore(TestDatabase().open())) { server in
            let fifo = ["FifoQueue": "true", "ContentBasedDeduplication": "true"]
            _ = try await server.sqsQueue("dead.fifo", fifo)
            _ = try await server.sqsQueue("mail.fifo", withDeadLettersIn: "dead.fifo", fifo)
            for (queue, body) in [("dead.fifo", "its own"), ("mail.fifo", "letter")] {
                try await server.sqs(
                    "SendMessage", ["QueueUrl": queue, "MessageBody": body, "MessageGroupId": "g"])
            }
            try await server.sqsFail("mail.fifo")
            let own = try #require(try await server.sqsReceive("dead.fifo").first)
            // Nothing else is there, so this look brings the letter.
            #expect(try await server.sqsReceive("dead.fifo").isEmpty)
            try await server.sqs(
                "ChangeMessageVisibility",
                ["QueueUrl": "dead.fifo", "ReceiptHandle": own.handle, "VisibilityTimeout": 0])
            let task = try await server.sqsMove(from: "dead.fifo")
            #expect(task["Status"] as? String == "FAILED")
            #expect((task["FailureReason"] as? String)?.contains("their groups") == true)
            #expect(task["ApproximateNumberOfMessagesMoved"] as? Int == 0)
            #expect(try await server.depths(of: QueueName(stored: "dead.fifo"))?.waiting == 2)
        }
    }

    /// It is still where it died, and does not go back in line beside the message that has its key by now.
    @Test func aLetterWhoseKeyAnotherHoldsIsMissed() async throws {
        try await TestServer.run(store: PenstockStore(TestDatabase().open())) { server in
            _ = try await server.sqsQueue("dead")
            _ = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            let message = NewMessage(payload: Array("x".utf8), uniqueKey: UniqueKey("k"))
            _ = try await server.store.storage.enqueue([message], to: mail, durability: .powerLoss)
            try await server.sqsFail("mail")
            try await server.sqs("SendMessage", ["QueueUrl": "mail", "MessageBody": "without a key"])
            try await server.sqsFail("mail")
            _ = try await server.store.storage.enqueue([message], to: mail, durability: .powerLoss)
            let task = try await server.sqsMove()
            #expect(task["Status"] as? String == "FAILED")
            #expect((task["FailureReason"] as? String)?.hasPrefix("1 letter stays in 'mail'") == true)
            #expect(task["ApproximateNumberOfMessagesMoved"] as? Int == 1)
            #expect(task["ApproximateNumberOfMessagesToMove"] as? Int == 2)
        }
    }

    /// A store in which others do something before a redrive, and something behind it.
    private struct HurriedStore: ForwardingStore {
        let base: any MessageStore
        let before: @Sendable (any MessageStore) async throws -> Void
        let behind: @Sendable (any MessageStore) async throws -> Void

        func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
            try await before(base)
            let count = try await base.apply(command, to: selection)
            try await behind(base)
            return count
        }
    }

    /// One was discarded by somebody else, and another one has died since the task began: no key is in the way of either.
    @Test func aLetterThatDiesMeanwhileIsNotMissed() async throws {
        let running = Mutex<Lease?>(nil)
        let store = HurriedStore(base: TestDatabase().open()) { [mail] base in
            let query = MessageQuery(queue: mail, states: [.dead], limit: 1)
            let letters = try await base.messages(query).records.map(\.sequence)
            _ = try await base.apply(.discard, to: .sequences(letters))
        } behind: { base in
            guard let lease = running.withLock({ $0 }) else { return }
            _ = try await base.settle([Settlement(lease, .dead(error: "It failed."))])
        }
        try await TestServer.run(store: PenstockStore(store)) { server in
            _ = try await server.sqsQueue("dead")
            _ = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            for body in ["1", "2"] { try await server.sqs("SendMessage", ["QueueUrl": "mail", "MessageBody": body]) }
            try await server.sqsFail("mail")
            try await server.sqs("SendMessage", ["QueueUrl": "mail", "MessageBody": "3"])
            let claim = try await server.store.storage.claim(
                ClaimRequest(queue: mail, limit: 1, lease: .seconds(60)))
            running.withLock { $0 = claim.messages.first?.lease }
            let task = try await server.sqsMove()
            #expect(task["Status"] as? String == "COMPLETED" && task["FailureReason"] == nil)
            #expect(task["ApproximateNumberOfMessagesMoved"] as? Int == 1)
        }
    }

    /// They are there for the next one at once, and have no attempt more.
    @Test func aTaskThatFailsGivesItsLettersBack() async throws {
        let storage = FaultyStore(TestDatabase().open())
        try await withTwoLetters(storage) { server in
            storage.fail(.settle)
            let source = ["SourceArn": TestServer.arn("dead")]
            #expect(try await server.sqsResponse("StartMessageMoveTask", source).status == 500)
            let depths = try await server.depths(of: dead)
            #expect(depths?.leased == 0 && depths?.ready == 2)
            let letters = try await server.store.storage.messages(MessageQuery(queue: dead)).records
            #expect(letters.map(\.attempt) == [1, 1])
            #expect(try await server.sqsMove()["ApproximateNumberOfMessagesMoved"] as? Int == 2)
        }
    }

    /// A store whose claims take 25 s each.
    private struct SlowStore: ForwardingStore {
        let base: any MessageStore
        let time: ManualTime

        func claim(_ request: ClaimRequest) async throws -> Claim {
            // Somebody looks for lost work all the time.
            _ = try await base.reclaim()
            let claim = try await base.claim(request)
            time.advance(by: .seconds(25))
            return claim
        }
    }

    /// Its own messages are held while those behind them are looked at, however long that takes.
    @Test func aLetterBehindManyOtherMessagesIsFoundByASlowTask() async throws {
        let time = ManualTime()
        let store = PenstockStore(
            SlowStore(base: InMemoryStore(time: time), time: time), options: .init(time: time))
        try await TestServer.run(store: store) { server in
            _ = try await server.sqsQueue("dead")
            _ = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            try await server.sqs("SendMessage", ["QueueUrl": "mail", "MessageBody": "x"])
            let message = try #require(try await store.storage.messages(MessageQuery(queue: mail)).records.first)
            let key = DeadLetters.key(of: message, in: try await store.storage.storeID())
            let own = [NewMessage](repeating: NewMessage(payload: [0x79]), count: 350)
            let letter = NewMessage(payload: [0x78], uniqueKey: key, origin: message.sequence)
            _ = try await store.storage.enqueue(own + [letter], to: dead, durability: .processCrash)
            let task = try await server.sqsMove()
            #expect(task["Status"] as? String == "COMPLETED")
            #expect(task["ApproximateNumberOfMessagesMoved"] as? Int == 1)
            let left = try await store.storage.messages(MessageQuery(queue: dead, states: [.ready])).records
            #expect(left.count == 350)
            #expect(left.allSatisfy { $0.attempt == 0 })
        }
    }
}
