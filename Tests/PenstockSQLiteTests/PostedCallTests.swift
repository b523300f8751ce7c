import Foundation
import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What travels through shared memory comes out as it went in, and nothing else does any harm.
@Suite(.timeLimit(.minutes(5))) struct PostedCallTests {
    private let now = SystemTime().now

    private func written(_ calls: [PostedCall], size: Int = 4092) -> (count: Int, bytes: [UInt8]) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
        defer { memory.deallocate() }
        var writer = ByteWriter(memory)
        let count = PostedCall.write(calls, to: &writer)
        return (count, Array(memory[..<writer.count]))
    }

    @Test(arguments: Durability.allCases) func aCallArrivesAsItWasSent(durability: Durability) throws {
        let messages = [
            NewMessage(payload: []),
            NewMessage(
                payload: Array(0...255), headers: ["a": "1", "b": "ü\"\n"], priority: -100, attemptsMax: 1000),
            .text("a", due: .after(.seconds(1)), group: "g"),
            .text("a", due: .at(now + .seconds(1)), expiry: .after(.seconds(2))),
            .text("a", group: "\u{65}\u{301}", expiry: .at(now + .microseconds(1))),
        ]
        let call = try #require(PostedCall(messages, to: .jobs, durability: durability))
        let arrived = try #require(PostedCall.read(written([call]).bytes, now: now).first)
        #expect((arrived.queue, arrived.durability) == (.jobs, durability))
        #expect(arrived.messages == messages)
        #expect(written([call], size: 300).count == 0, "It has no room.")
    }

    @Test func whatIsNotPlainDoesNotTravel() {
        for message in [NewMessage.text("a", key: "k"), NewMessage(payload: [], origin: SequenceNumber(1))] {
            #expect(PostedCall([message], to: .jobs, durability: .powerLoss) == nil, "\(message)")
        }
    }

    @Test func callsGoTogetherAsFarAsThereIsRoom() throws {
        let call = try #require(PostedCall(Array(repeating: .text("it"), count: 20), to: .jobs, durability: .powerLoss))
        #expect(written([call, call]).count == 1, "More messages than one process hands over.")
        let small = try #require(PostedCall([.text("it")], to: .jobs, durability: .powerLoss))
        let (count, bytes) = written(Array(repeating: small, count: 32))
        #expect(count == 32)
        #expect(PostedCall.read(bytes, now: now).count == 32)
        #expect(written(Array(repeating: small, count: 32), size: 200).count < 32)
    }

    @Test func receiptsArriveAsTheyWereSent() throws {
        let receipts = [
            [
                Receipt(sequence: SequenceNumber(.max), state: .ready, durability: .powerLoss),
                Receipt(
                    sequence: SequenceNumber(1), state: .dropped, durability: .powerLoss, displaced: SequenceNumber(7)),
            ] + MessageState.allCases.map { Receipt(sequence: SequenceNumber(2), state: $0, durability: .powerLoss) },
            [],
        ]
        let call = try #require(PostedCall([.text("a"), .text("b")], to: .jobs, durability: .powerLoss))
        #expect(PostedAnswer(PostedAnswer.bytes(of: receipts, to: [call, call])).receipts == receipts)
        let single = try #require(PostedCall([.text("a")], to: .jobs, durability: .processCrash))
        let all = (1...32).map { [Receipt(sequence: SequenceNumber($0), state: .ready, durability: .processCrash)] }
        #expect(PostedAnswer(PostedAnswer.bytes(of: all, to: Array(repeating: single, count: 32))).receipts == all)
    }

    @Test func someCallsAreNotHandedOver() {
        func isHandedOver(_ messages: [NewMessage]) -> Bool {
            PostedCall(messages, to: .jobs, durability: .powerLoss) != nil
        }
        #expect(isHandedOver(Array(repeating: .text("it"), count: PostedCall.messagesMax)))
        #expect(!isHandedOver(Array(repeating: .text("it"), count: PostedCall.messagesMax + 1)))
        #expect(!isHandedOver([.text("it"), .text("it", key: "k")]))
    }

    /// The memory is anybody's who may write the file. Whatever is there, it is a call that may be made or none.
    @Test func anythingElseIsNoCall() throws {
        let seed = UInt64.random(in: 0 ... .max)
        let random = SeededRandom(seed: seed)
        let call = try #require(
            PostedCall(
                [.text("hello", priority: 5), .text("there", due: .after(.seconds(1)), group: "g")], to: .jobs,
                durability: .powerLoss))
        let whole = written([call]).bytes
        for _ in 1...20_000 {
            var bytes = whole
            for _ in 0...Int(random.next() % 4) {
                bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            for arrived in PostedCall.read(bytes, now: now) {
                #expect(throws: Never.self, "seed \(seed)") {
                    try NewMessage.validate(batch: arrived.messages, now: now)
                }
                #expect(arrived.messages.count <= PostedCall.messagesMax, "seed \(seed)")
            }
            _ = PostedAnswer(bytes)
        }
    }
}
