import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQLite

/// What travels through shared memory comes out as it went in, and nothing else does any harm.
@Suite(.timeLimit(.minutes(1))) struct ParcelTests {
    private let now = SystemTime().now

    private func copy(_ parcel: Parcel, size: Int = 4096) -> Parcel? {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
        defer { memory.deallocate() }
        var writer = ByteWriter(memory)
        parcel.write(to: &writer)
        if writer.isOver { return nil }
        var reader = ByteReader(memory)
        return Parcel(from: &reader, now: now)
    }

    @Test(arguments: Durability.allCases) func aParcelArrivesAsItWasSent(durability: Durability) throws {
        let messages = [
            NewMessage(payload: []),
            NewMessage(
                payload: Array(0...255), headers: ["a": "1", "b": "ü\"\n"], priority: -100, attemptsMax: 1000),
        ]
        let parcel = try #require(Parcel(messages, to: .jobs, durability: durability))
        let arrived = try #require(copy(parcel))
        #expect((arrived.queue, arrived.durability) == (.jobs, durability))
        #expect(arrived.messages.map(\.payload) == messages.map(\.payload))
        #expect(arrived.messages.map(\.headers) == messages.map(\.headers))
        #expect(arrived.messages.map(\.priority) == [0, -100])
        #expect(arrived.messages.map(\.attemptsMax) == [nil, 1000])
        #expect(copy(parcel, size: 300) == nil, "It has no room.")
    }

    @Test func receiptsArriveAsTheyWereSent() throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 8)
        defer { memory.deallocate() }
        let receipts = [
            Receipt(sequence: SequenceNumber(.max), state: .ready, durability: .powerLoss),
            Receipt(
                sequence: SequenceNumber(1), state: .dropped, durability: .powerLoss, displaced: SequenceNumber(7)),
        ]
        var writer = ByteWriter(memory)
        for receipt in receipts { receipt.write(to: &writer) }
        var reader = ByteReader(memory)
        for receipt in receipts { #expect(Receipt(from: &reader, durability: .powerLoss) == receipt) }
    }

    @Test func someCallsAreNotHandedOver() {
        func isHandedOver(_ messages: [NewMessage]) -> Bool {
            Parcel(messages, to: .jobs, durability: .powerLoss) != nil
        }
        #expect(isHandedOver(Array(repeating: .text("it"), count: Parcel.messagesMax)))
        #expect(!isHandedOver(Array(repeating: .text("it"), count: Parcel.messagesMax + 1)))
        #expect(!isHandedOver([.text("it"), .text("it", key: "k")]))
        #expect(!isHandedOver([.text("it", due: .after(.seconds(1)))]))
        #expect(!isHandedOver([NewMessage(payload: [], origin: SequenceNumber(1))]))
    }

    /// The memory is anybody's who may write the file. Whatever is there, it is a parcel that may be enqueued or none.
    @Test func anythingElseIsNoParcel() throws {
        let seed = UInt64.random(in: 0 ... .max)
        let random = SeededRandom(seed: seed)
        let parcel = try #require(
            Parcel([.text("hello", priority: 5), .text("there")], to: .jobs, durability: .powerLoss))
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 128, alignment: 8)
        defer { memory.deallocate() }
        for _ in 1...20_000 {
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            var writer = ByteWriter(memory)
            parcel.write(to: &writer)
            for _ in 0...Int(random.next() % 4) {
                memory[Int(random.next() % 128)] = UInt8(truncatingIfNeeded: random.next())
            }
            var reader = ByteReader(memory)
            if let arrived = Parcel(from: &reader, now: now) {
                #expect(throws: Never.self, "seed \(seed)") {
                    try NewMessage.validate(batch: arrived.messages, now: now)
                }
                #expect(arrived.messages.count <= Parcel.messagesMax, "seed \(seed)")
            }
            var receipts = ByteReader(memory)
            while Receipt(from: &receipts, durability: .powerLoss) != nil {}
        }
    }
}
