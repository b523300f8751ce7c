import Penstock
import PenstockCodecs
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

/// Queues whose payloads go through codecs.
@Suite(.timeLimit(.minutes(5))) struct QueueCodecTests {
    struct Mail: Codable, Sendable, Equatable {
        var to: String
        var text = String(repeating: "very long ", count: 100)
    }

    /// Adds one to each byte.
    struct Shift: ByteCodec {
        var name = "shift"
        var parameter: String?

        func encode(_ bytes: [UInt8]) -> CodedBytes? { CodedBytes(bytes.map { $0 &+ 1 }, parameter: parameter) }
        func decode(_ coded: CodedBytes) -> [UInt8] { coded.bytes.map { $0 &- 1 } }
    }

    private let mail = Mail(to: "ada@example.org")
    private let time = ManualTime()
    private let memory: InMemoryStore
    private let store: PenstockStore
    private let key: EncryptionKey

    init() throws {
        memory = InMemoryDatabase(time: time, random: SeededRandom(seed: 3)).open()
        store = PenstockStore(memory, options: .init(time: time))
        key = try EncryptionKey(id: "k1", bytes: Array(0..<32))
    }

    private func mails(_ codecs: [any ByteCodec]) async throws -> Queue<Mail> {
        try await store.queue("mails", of: Mail.self, codecs: codecs)
    }

    private func chain() throws -> [any ByteCodec] { [try DeflateCodec(), try AESGCMCodec(key)] }

    private func record(_ receipt: Receipt) async throws -> MessageRecord {
        try await store.message(receipt.sequence)
    }

    /// What a worker gets of what waits.
    private func drain<Element>(_ queue: Queue<Element>) async throws -> [Element] {
        let seen = Mutex<[Element]>([])
        try await Worker(queue, options: .init(drain: true)) { delivery in
            seen.withLock { $0.append(delivery.payload) }
        }.run()
        return seen.withLock { $0 }
    }

    @Test func aPayloadGoesThroughTheChainAndBack() async throws {
        let mails = try await mails(chain())
        let receipt = try await mails.enqueue(mail, options: .init(headers: ["trace": "t"], kind: "mail"))
        let stored = try #require(try await memory.messages(MessageQuery(limit: 1, withPayload: true)).first)
        #expect(stored.headers == ["penstock-codec": "deflate,aes-gcm:k1", "penstock-kind": "mail", "trace": "t"])
        let payload = try #require(stored.payload)
        // It was compressed before it was encrypted.
        #expect(payload.count < 200)
        #expect(try await drain(mails) == [mail])
        #expect(try await record(receipt).state == .done)
    }

    @Test func aCodecThatLeavesAPayloadAsItIsIsNotNamed() async throws {
        let queue = try await store.queue("bytes", codecs: chain())
        let receipt = try await queue.enqueue([1, 2, 3])
        #expect(try await record(receipt).headers == ["penstock-codec": "aes-gcm:k1"])
        let plain = try await store.queue("bytes", codecs: [DeflateCodec()])
        #expect(try await record(try await plain.enqueue([1, 2, 3])).headers == [:])
        #expect(try await drain(queue) == [[1, 2, 3], [1, 2, 3]])
    }

    /// As a store takes them, messages go through the chain as well; what says that it has been through one does not.
    @Test func messagesAreCodedToo() async throws {
        let queue = try await store.queue("bytes", codecs: chain())
        let message = NewMessage(payload: [1, 2, 3], headers: ["trace": "t"])
        let receipts = try await queue.enqueue([message])
        let stored = try #require(try await memory.messages(MessageQuery(limit: 1, withPayload: true)).first)
        #expect(stored.headers == ["penstock-codec": "aes-gcm:k1", "trace": "t"])
        let payload = try #require(stored.payload)
        #expect(payload != message.payload)
        try await queue.enqueue([NewMessage(payload: payload, headers: stored.headers)])
        #expect(try await drain(queue) == [[1, 2, 3], [1, 2, 3]])
        #expect(try await record(receipts[0]).state == .done)
    }

    /// A queue gets a chain, another one, and none any more, while messages wait.
    @Test func aMessageIsReadByWhatItSaysOfItself() async throws {
        let all = try chain()
        for codecs in [[], all, [all[1]], all.reversed(), [all[0]]] as [[any ByteCodec]] {
            _ = try await mails(codecs).enqueue(mail)
        }
        #expect(try await drain(mails(all)) == Array(repeating: mail, count: 5))
    }

    @Test func aReplayCopiesTheBytes() async throws {
        let mails = try await mails(chain())
        let receipt = try await mails.enqueue(mail)
        #expect(try await drain(mails) == [mail])
        // By a program that has not the keys.
        #expect(try await store.replay(MessageQuery(sequences: [receipt.sequence])) == 1)
        let all = try await memory.messages(MessageQuery(queue: mails.name, withPayload: true))
        #expect(all.count == 2)
        #expect(all[0].payload == all[1].payload)
        #expect(all[0].headers == all[1].headers)
        #expect(try await drain(mails) == [mail])
    }

    @Test func logsDeliveriesAndStreamsGoThroughTheChain() async throws {
        let mails = try await mails(chain())
        let other = try await store.queue("others", of: Mail.self, codecs: [Shift()])
        _ = try await mails.enqueue(mail)
        for try await entry in mails.log() { #expect(try entry.payload() == mail) }
        var deliveries = mails.deliveries().makeAsyncIterator()
        let delivery = try #require(try await deliveries.next())
        #expect(delivery.payload == mail)
        // What is handed on with the headers went through the other queue's chain, and not through this one's.
        try await delivery.done(then: [other.draft(mail, options: .init(headers: delivery.headers))])
        let stored = try #require(try await memory.messages(MessageQuery(queue: other.name)).first)
        #expect(stored.headers == ["penstock-codec": "shift"])
        #expect(try await drain(other) == [mail])

        let numbers = try await store.queue("numbers", of: Int.self, codecs: [Shift(parameter: "by.1")])
        var values: [Int] = []
        let source = AsyncStream<Int> { stream in
            for number in 1...5 { stream.yield(number) }
            stream.finish()
        }
        for try await delivery in source.buffer(size: 3, prefetch: .keepFull, whenFull: .wait, in: numbers) {
            #expect(delivery.headers == ["penstock-codec": "shift:by.1"])
            values.append(delivery.payload)
            try await delivery.done()
        }
        #expect(values == [1, 2, 3, 4, 5])
    }

    /// The memory of a subject is a log.
    @Test func aSubjectGoesThroughTheChain() async throws {
        let prices = try await store.queue("prices", of: Int.self, codecs: [Shift()])
        let subject = AsyncDurableReplaySubject(bufferSize: 3, in: prices)
        for price in 1...3 { try await subject.send(price) }
        let stored = try await memory.messages(MessageQuery(queue: prices.name, withPayload: true))
        #expect(stored.map(\.headers) == Array(repeating: ["penstock-codec": "shift"], count: 3))
        #expect(stored.map(\.payload) == [[0x32], [0x33], [0x34]])
        var values: [Int] = []
        for try await price in subject {
            values.append(price)
            if values.count == 3 { break }
        }
        #expect(values == [1, 2, 3])
    }

    // MARK: What cannot be read

    @Test func withoutTheCodecOrTheKeyAMessageIsDeadUntilItIsThere() async throws {
        let all = try chain()
        let other = try EncryptionKey(id: "k2", bytes: Array(0..<32))
        for codecs in [[], [all[0]], [all[1]], [all[0], try AESGCMCodec(other)]] as [[any ByteCodec]] {
            let receipt = try await mails(all).enqueue(mail)
            #expect(try await drain(mails(codecs)) == [])
            let record = try await record(receipt)
            #expect(record.state == .dead)
            #expect(record.reason == .undecodable)
            #expect(record.attempts.map(\.outcome) == [.undecodable])
            try await store.redrive([receipt.sequence])
            #expect(try await drain(mails(all)) == [mail])
        }
    }

    @Test(arguments: ["shift,shift", "", ",", "shift,", "SHIFT", "other:x", "shift:", " shift"])
    func aHeaderThatNoChainMakesIsUndecodableOrWhatItSays(header: String) async throws {
        let bytes = try await store.queue("bytes", codecs: [Shift()])
        let receipts = try await bytes.enqueue([NewMessage(payload: [2], headers: ["penstock-codec": header])])
        let given = try await drain(bytes)
        // An empty parameter is one that this codec does not look at.
        #expect(given == (header == "shift:" ? [[1]] : []))
        #expect(try await record(receipts[0]).state == (header == "shift:" ? .done : .dead))
    }

    // MARK: The door

    @Test func chainsThatCannotBeAreRefused() async throws {
        let twice = await #expect(throws: PenstockError.self) {
            _ = try await mails([Shift(), try DeflateCodec(), Shift()])
        }
        #expect(twice?.code == .invalidInput)
        #expect(twice?.message == "Two codecs of the queue are called 'shift'; a chain has each name once.")
        for name in ["", "Shift", "a,b", "a:b", "a b", String(repeating: "a", count: 33)] {
            #expect(await errorCode { _ = try await mails([Shift(name: name)]) } == .invalidInput, "\(name)")
        }
        for parameter in ["", "a,b", "a:b", "é", String(repeating: "a", count: 101)] {
            let queue = try await mails([Shift(parameter: parameter)])
            #expect(await errorCode { try await queue.enqueue(mail) } == .invalidInput, "\(parameter)")
        }
        #expect(try await memory.messages(MessageQuery()).isEmpty)
    }

    /// The program that only hands messages on sees them as they are.
    @Test func aQueueAsStoredGivesTheBytes() async throws {
        let receipt = try await mails([Shift()]).enqueue(mail)
        let stored = try await store.queueAsStored("mails")
        #expect(try await drain(stored).first?.first == UInt8(ascii: "{") + 1)
        #expect(try await record(receipt).state == .done)
        #expect(await errorCode { _ = try await store.queueAsStored("none") } == .unknownQueue)
    }
}
