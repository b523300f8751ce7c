import Foundation
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import PenstockWire
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@testable import PenstockClient

/// Whose calls a server carries out, and what it says to the others.
@Suite(.timeLimit(.minutes(5))) struct StoreAccessTests {
    private let mail = TokenServer.mail
    private let other = TokenServer.other

    /// Each scope lets its holder do its own calls with its own queues. That it lets no other do them is for `CallRightsTests`.
    @Test func aScopeIsEnoughForItsCalls() async throws {
        try await TokenServer.run { (_, open) async throws in
            let producer = try await open("producer")
            let receipt = try await producer.enqueue([NewMessage(payload: [1])], to: mail, durability: .powerLoss)[0]
            let consumer = try await open("consumer")
            let claim = try await consumer.claim(ClaimRequest(queue: mail, limit: 1, lease: .seconds(30)))
            #expect(claim.messages.map(\.lease.sequence) == [receipt.sequence])
            // What is done in one transaction with a verdict has to be allowed as well.
            await expect(.forbidden) {
                _ = try await consumer.perform([
                    .settle([Settlement(claim.messages[0].lease, .done)]),
                    .enqueue([NewMessage(payload: [2])], to: mail, durability: .powerLoss),
                ])
            }
            #expect(try await consumer.settle([Settlement(claim.messages[0].lease, .done)]) == [.settled(.done)])
            // A cursor is a reader's, but for those by which the queue's settings are kept.
            #expect(try await consumer.moveCursor(CursorName("reader"), of: mail, .place(after: nil)) != nil)
            for name in ["amazon-sqs.1", "amazon-sqs.9223372036854775807"] {
                for move in [.place(after: nil, note: "{}"), .remove] as [CursorMove] {
                    await expect(.forbidden) { _ = try await consumer.moveCursor(CursorName(name), of: mail, move) }
                }
            }
            // Histories go as their queues' policies say.
            #expect(try await consumer.prune(PruneRequest()).messages == 0)

            let reader = try await open("reader")
            #expect(try await reader.status(of: nil).queues.count == 2)
            #expect(try await reader.log(LogQuery(queue: mail, .last(10))).records.count == 1)

            let handler = try await open("operator")
            try await handler.configure(other, .pause)
            for client in [producer, consumer, reader, handler] { try await client.close() }
        }
    }

    /// The scope of a worker is enough for one, and that of a producer for one; a refusal says what is in the way.
    @Test func whoMayUseAQueueCanOpenIt() async throws {
        try await TokenServer.run { (_, open) async throws in
            let producer = PenstockStore(try await open("producer"))
            try await producer.queue("mail", of: String.self, create: false).enqueue("hello")
            let consumer = PenstockStore(try await open("consumer"))
            let mail = try await consumer.queue("mail", of: String.self, create: false)
            try await Worker(mail, options: .init(drain: true)) { _ in }.run()
            #expect(try await mail.status().totals.done == 1)
            await #expect {
                _ = try await consumer.queue("other", of: String.self, create: false)
            } throws: {
                ($0 as? PenstockError)?.message
                    == "The token 'consumer' may not work on the queue 'other': its queues are others."
            }
            await #expect {
                _ = try await consumer.storage.messages(MessageQuery(queue: self.mail))
            } throws: {
                ($0 as? PenstockError)?.message
                    == "The token 'consumer' may not look at the queue 'mail': it does not have the scope 'read'."
            }
            for store in [producer, consumer] { try await store.close() }
        }
    }

    /// What concerns other queues is for tokens of all queues; and what a server makes out of its clients' words, for none of them.
    @Test func aTokenOfSomeQueuesHearsNothingOfOthers() async throws {
        try await TokenServer.run { (_, open) async throws in
            let reader = try await open("reader")
            for client in [try await open("producer"), try await open("consumer")] {
                _ = try await reader.status(of: mail)
                #expect(try await client.status(of: mail).workers.isEmpty)
                try await client.close()
            }
            let handler = try await open("operator")
            await expect(.forbidden) {
                try await handler.configure(
                    other, .set(QueuePolicy(sharedLimit: LimitName(stored: "gpu")), replacing: nil))
            }
            try await handler.configure(other, .set(QueuePolicy(limit: 3), replacing: nil))
            let producer = try await open("producer")
            let forged = NewMessage(payload: [1], uniqueKey: UniqueKey("idempotency shop 1", onConflict: .replace))
            await expect(.invalidInput) { _ = try await producer.enqueue([forged], to: mail, durability: .powerLoss) }
            await expect(.invalidInput) {
                _ = try await producer.append([forged], to: mail, unless: nil, durability: .powerLoss)
            }
            await expect(.invalidInput) {
                _ = try await producer.perform([.enqueue([forged], to: mail, durability: .powerLoss)])
            }
            for client in [reader, handler, producer] { try await client.close() }
        }
    }

    /// A worker knows of messages that are worked, and of no others. What stands beside a queue is for those who may look at it.
    @Test func whoMayNotLookIsToldOfHisOwnPart() async throws {
        try await TokenServer.run { (store, open) async throws in
            let (producer, consumer, onlooker) = (
                try await open("producer"), try await open("consumer"), try await open("onlooker")
            )
            let sequence = try await producer.enqueue([NewMessage(payload: [1])], to: mail, durability: .powerLoss)[0]
                .sequence
            let event = try EventName("paid")
            await expect(.leaseLost) { _ = try await consumer.journal(of: sequence) }
            let claim = try await consumer.claim(ClaimRequest(queue: mail, limit: 1, lease: .seconds(30)))
            let lease = try #require(claim.messages.first).lease
            _ = try await consumer.record(
                try StepName("s"), result: [7], on: lease, extendingBy: nil, durability: .powerLoss)
            #expect(try await consumer.journal(of: sequence).steps.map(\.result) == [[7]])
            #expect(try await consumer.event(event, for: sequence) == nil)
            #expect(try await consumer.settle([Settlement(lease, .done)]) == [.settled(.done)])
            await expect(.leaseLost) { _ = try await consumer.journal(of: sequence) }
            await expect(.leaseLost) { _ = try await consumer.event(event, for: sequence) }
            await expect(.forbidden) { _ = try await producer.journal(of: sequence) }
            _ = try await onlooker.journal(of: sequence)

            for name in ["reader", "amazon-sqs.1"] {
                _ = try await store.storage.moveCursor(CursorName(name), of: mail, .place(after: nil, note: "secret"))
            }
            for client in [producer, consumer] {
                let status = try await client.status(of: mail)
                #expect(status.queues.map(\.name) == [mail] && status.cursors.isEmpty)
            }
            #expect(try await onlooker.status(of: mail).cursors.map(\.note) == ["secret", "secret"])
            for client in [producer, consumer, onlooker] { try await client.close() }
        }
    }

    /// A copy says of which message it is one, and is taken for that by those who look.
    @Test func whoNamesAnOriginMayReadIt() async throws {
        try await TokenServer.run { (store, open) async throws in
            let letter = try await store.queue("other", of: String.self).enqueue("letter").sequence
            let own = try await store.queue("mail", of: String.self).enqueue("own").sequence
            let (producer, team, everything) = (
                try await open("producer"), try await open("team"), try await open("everything")
            )
            func copy(_ client: RemoteStore, _ origin: SequenceNumber) async throws {
                let message = NewMessage(payload: [1], origin: origin)
                _ = try await client.enqueue([message], to: mail, durability: .powerLoss)
            }
            for origin in [letter, own] { await expect(.forbidden) { try await copy(producer, origin) } }
            await expect(.forbidden) { try await copy(team, letter) }
            // Retention may have let it go since it was read.
            try await copy(team, SequenceNumber(99))
            await expect(.forbidden) { try await copy(producer, SequenceNumber(99)) }
            await expect(.forbidden) {
                let task = NewTask(try TaskName("t"), queue: mail, message: NewMessage(payload: [1], origin: letter))
                _ = try await team.start(NewWorkflow(tasks: [task]), durability: .powerLoss)
            }
            try await copy(team, own)
            try await copy(everything, letter)
            for client in [producer, team, everything] { try await client.close() }
        }
    }

    /// One transaction of a client is as large as one of a program, and no larger.
    @Test func aTransactionIsBounded() async throws {
        try await TokenServer.run { (_, open) async throws in
            let consumer = try await open("consumer")
            for (limit, countMax) in [(1, 20), (2, 10), (4, 5), (10_000, 4)] {
                let claim = StoreOperation.claim(ClaimRequest(queue: mail, limit: limit, lease: .seconds(30)))
                let claims = Array(repeating: claim, count: countMax)
                #expect(try await consumer.perform(claims).answers.count == countMax)
                await expect(.invalidInput) { _ = try await consumer.perform(claims + [claim]) }
            }
            let producer = try await open("producer")
            let many = [NewMessage](repeating: NewMessage(payload: []), count: 7000)
            let enqueue = StoreOperation.enqueue(many, to: mail, durability: .processCrash)
            await expect(.invalidInput) { _ = try await producer.perform([enqueue, enqueue, enqueue]) }
            #expect(try await producer.perform([enqueue, enqueue]).answers.count == 2)
            for client in [consumer, producer] { try await client.close() }
        }
    }

    /// A caller that is woken for messages is to be able to take them.
    @Test func ringsForWorkAreForThoseWhoMayWork() async throws {
        let store = PenstockStore(InMemoryStore())
        _ = try await store.queue("mail")
        let tokens = try Tokens("producer \(secret("producer")) produce\nconsumer \(secret("consumer")) consume")
        let server = try await TestServer.start(store, tokens: tokens)
        func ask(_ who: String, _ bell: Bell, room: Int, passesOn: Bool = false) async throws -> Int {
            var request = URLRequest(url: try #require(URL(string: server.url + "/v1/store/rings")))
            request.httpMethod = "POST"
            var writer = WireWriter()
            writer(RingBucket.of(mail), bell, UInt64(0), UInt64(0), room, passesOn)
            request.httpBody = Data(writer.bytes)
            request.setValue(WireFormat.contentType, forHTTPHeaderField: "Content-Type")
            request.setValue("Bearer \(secret(who))", forHTTPHeaderField: "Authorization")
            let (_, response) = try await URLSession.shared.data(for: request)
            return try #require(response as? HTTPURLResponse).statusCode
        }
        // The server is not the one that the client knows, so nobody waits.
        #expect(try await ask("consumer", .work, room: .max) == 200)
        #expect(try await ask("consumer", .work, room: -1) == 400)
        #expect(try await ask("producer", .work, room: 1) == 403)
        #expect(try await ask("producer", .room, room: 0, passesOn: true) == 403)
        #expect(try await ask("producer", .room, room: 0) == 200)
        await server.stop()
    }

    /// A token that is not known, and none at all.
    @Test func whoShowsNoTokenGetsNothing() async throws {
        try await TokenServer.run { (_, open) async throws in
            await expect(.forbidden) { _ = try await open("nobody") }
        }
    }

    /// Why a message waits is told to whoever may read it, and what is in other queues is not.
    @Test func tasksOfOtherQueuesAreNotNamed() async throws {
        try await TokenServer.run { (store, open) async throws in
            let parent = NewTask(TaskName(stored: "secret"), queue: other, message: NewMessage(payload: [1]))
            let child = NewTask(
                TaskName(stored: "own"), queue: mail, message: NewMessage(payload: [2]),
                dependencies: [Dependency(on: parent.name)])
            let workflow = NewWorkflow(WorkflowName(stored: "w"), tasks: [parent, child])
            _ = try await store.storage.start(workflow, durability: .powerLoss)
            let own = try await open("onlooker").waitReason(of: SequenceNumber(2))
            #expect(own.causes == [.moreTasks])
            let all = try await open("reader").waitReason(of: SequenceNumber(2))
            #expect(
                all.causes == [.task(WaitReason.Other(sequence: SequenceNumber(1), state: .ready, task: parent.name))])
        }
    }

    /// Another release is told so; what is no call at all is refused, and never a trap.
    @Test func whatIsNoCallIsRefused() async throws {
        let server = try await TestServer.start(PenstockStore(InMemoryStore()))
        func post(_ body: Data, _ type: String, _ path: String) async throws -> (Int, String) {
            var request = URLRequest(url: try #require(URL(string: server.url + path)))
            request.httpMethod = "POST"
            request.httpBody = body
            request.setValue(type, forHTTPHeaderField: "Content-Type")
            let (data, response) = try await URLSession.shared.data(for: request)
            return (try #require(response as? HTTPURLResponse).statusCode, String(decoding: data, as: UTF8.self))
        }
        for path in ["/v1/store", "/v1/store/rings"] {
            let (status, text) = try await post(Data([1]), "application/vnd.penstock.store; version=0", path)
            #expect(status == 415 && text.contains("different releases"))
        }
        var random = Seeded(7)
        for _ in 0..<500 {
            let length = Int.random(in: 0...60, using: &random)
            var bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            // Most have the number of a call, so that what comes behind it is read.
            if !bytes.isEmpty { bytes[0] = UInt8.random(in: 0...40, using: &random) }
            let (status, text) = try await post(Data(bytes), WireFormat.contentType, "/v1/store")
            #expect([200, 400].contains(status), "\(bytes): \(text)")
        }
        let (status, _) = try await post(Data(repeating: 0, count: 2000), WireFormat.contentType, "/v1/store/rings")
        #expect(status == 413)
        await server.stop()
    }

    private func secret(_ name: String) -> String { TokenServer.secret(name) }
}
