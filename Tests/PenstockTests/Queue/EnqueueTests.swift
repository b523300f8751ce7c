import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct EnqueueTests {
    let the = Fixture()

    struct Order: Codable, Sendable, Hashable {
        var item: String
        var count: Int
    }

    @Test func codableElementsAreJSONThatPeopleCanRead() async throws {
        let orders = try await the.store.queue("orders", of: Order.self)
        let receipt = try await orders.enqueue(Order(item: "nut/bolt", count: 3))
        #expect(try await the.record(receipt).payload == Array(#"{"count":3,"item":"nut/bolt"}"#.utf8))
        var deliveries = orders.deliveries().makeAsyncIterator()
        #expect(try await deliveries.next()?.payload == Order(item: "nut/bolt", count: 3))
    }

    @Test func bytesPassUnharmed() async throws {
        let queue = try await the.store.queue("raw")
        let bytes = (0...255).map { UInt8($0) }
        let receipt = try await queue.enqueue(bytes)
        #expect(try await the.record(receipt).payload == bytes)
        var deliveries = queue.deliveries().makeAsyncIterator()
        #expect(try await deliveries.next()?.payload == bytes)
    }

    @Test func aCodecOfOnesOwn() async throws {
        struct Hex: PayloadCodec {
            func encode(_ element: Int) -> [UInt8] { Array(String(element, radix: 16).utf8) }
            func decode(_ bytes: [UInt8]) throws -> Int {
                guard let element = Int(String(decoding: bytes, as: UTF8.self), radix: 16) else {
                    throw Reject("not hexadecimal")
                }
                return element
            }
        }
        let queue = try await the.store.queue("hex", codec: Hex())
        let receipt = try await queue.enqueue(255)
        #expect(try await the.record(receipt).payload == Array("ff".utf8))
        var deliveries = queue.deliveries().makeAsyncIterator()
        #expect(try await deliveries.next()?.payload == 255)
    }

    @Test func everyOptionArrives() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(
            1,
            options: .init(
                headers: ["a": "b"], priority: 7, due: .after(.seconds(5)), attemptsMax: 3, uniqueKey: UniqueKey("k")),
            durability: .processCrash)
        #expect(receipt.state == .scheduled)
        #expect(receipt.durability == .processCrash)
        let record = try await the.record(receipt)
        #expect(record.headers == ["a": "b"])
        #expect(record.priority == 7)
        #expect(record.due == the.time.now + .seconds(5))
        #expect(record.attemptsMax == 3)
        #expect(record.uniqueKey == "k")
        #expect(try await queue.enqueue(2, options: .init(uniqueKey: UniqueKey("k"))).skipped)
    }

    @Test func severalGoInTogetherAndInOrder() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3]) { number in
            EnqueueOptions(headers: ["a": "b"], priority: number, uniqueKey: UniqueKey("\(number)"))
        }
        #expect(receipts.map(\.sequence.rawValue) == [1, 2, 3])
        #expect(the.calls.calls(of: .enqueue).count == 1)
        let last = try await the.record(receipts[2])
        #expect(last.headers == ["a": "b"])
        #expect(last.priority == 3)
        let again = try await queue.enqueue(contentsOf: [3, 4]) { EnqueueOptions(uniqueKey: UniqueKey("\($0)")) }
        #expect(again.map(\.skipped) == [true, false], "Each has a key of its own.")
        #expect(try await queue.enqueue(contentsOf: []).isEmpty)
    }

    @Test func rawMessagesEachWithOptions() async throws {
        let queue = try await the.store.queue("raw")
        let receipts = try await queue.enqueue([
            NewMessage(payload: [1], priority: 1), NewMessage(payload: [2], priority: 9),
        ])
        var deliveries = queue.deliveries(inFlightMax: 2).makeAsyncIterator()
        #expect(try await deliveries.next()?.sequence == receipts[1].sequence)
    }

    @Test func theStoresDurabilityUnlessTheCallSaysOtherwise() async throws {
        let fast = Fixture(options: .init(durability: .processCrash))
        let queue = try await fast.queue()
        #expect(try await queue.enqueue(1).durability == .processCrash)
        #expect(try await queue.enqueue(1, durability: .powerLoss).durability == .powerLoss)
        #expect(try await the.queue().enqueue(1).durability == .powerLoss)
    }

    @Test func whatCannotBeEncodedIsNotEnqueued() async throws {
        let queue = try await the.store.queue("d", of: Double.self)
        await #expect(throws: EncodingError.self) { try await queue.enqueue(.infinity) }
        await #expect(throws: EncodingError.self) { try await queue.enqueue(contentsOf: [1, .infinity]) }
        #expect(try await queue.status().totals.enqueued == 0)
    }

    @Test func aFullQueueFails() async throws {
        let queue = try await the.queue(policy: .holding(2, .fail))
        let error = await #expect(throws: PenstockError.self) { try await queue.enqueue(contentsOf: [1, 2, 3]) }
        #expect(error?.code == .queueFull)
        #expect(try await queue.status().depths.ready == 0)
    }

    @Test func aQueueThatDropsNeverWaits() async throws {
        let queue = try await the.queue(policy: .holding(1, .dropNewest))
        let receipts = try await queue.enqueue(contentsOf: [1, 2])
        #expect(receipts.map(\.state) == [.ready, .dropped])
        #expect(the.calls.calls(of: .enqueue).count == 1)
    }
}
