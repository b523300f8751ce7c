import PenstockCore
import PenstockWire
import Testing

/// What comes over the wire and is no value of this release is refused, whatever it would be taken for.
@Suite struct WireReaderTests {
    /// Whether `bytes` are a value of that type, and nothing more.
    private func isValue<Value: WireValue>(_ bytes: [UInt8], _: Value.Type) -> Bool {
        var reader = WireReader(bytes, isFromStore: false)
        do {
            _ = try reader() as Value
            try reader.end()
            return true
        } catch {
            return (error as? PenstockError)?.code != .invalidInput
        }
    }

    private func bytes<Value: WireValue>(_ value: Value) -> [UInt8] {
        var writer = WireWriter()
        writer(value)
        return writer.bytes
    }

    @Test func numbersEndWithinTheirBits() {
        let most = Array(repeating: UInt8(0xFF), count: 9)
        #expect(isValue(most + [1], UInt64.self) && bytes(UInt64.max) == most + [1])
        #expect(!isValue(most + [2], UInt64.self))
        #expect(!isValue(most + [0x81, 0], UInt64.self))
        #expect(!isValue(most, UInt64.self))
        for number in [Int64(Int32.max), Int64(Int32.min)] { #expect(isValue(bytes(number), Int32.self)) }
        for number in [Int64(Int32.max) + 1, Int64(Int32.min) - 1] { #expect(!isValue(bytes(number), Int32.self)) }
    }

    @Test func nothingIsReadForAnythingElse() {
        #expect(isValue([1], Bool.self) && !isValue([2], Bool.self))
        #expect(isValue([1, 0x61], String.self))
        #expect(!isValue([2, 0x61], String.self), "There is less than it says.")
        #expect(!isValue([1, 0x61, 0], String.self), "There is more.")
        #expect(!isValue([1, 0xFF], String.self), "It is no UTF-8.")
    }

    /// A server would do as the last of them says, and another program that reads the same bytes as the first.
    @Test func noNameIsThereTwice() {
        #expect(isValue([2, 1, 0x61, 0, 1, 0x62, 0], [String: String].self))
        #expect(!isValue([2, 1, 0x61, 0, 1, 0x61, 0], [String: String].self))
    }

    /// The bells of a machine's processes lie one behind the other in memory that they share.
    @Test func aWaitIsForABellThatThereIs() {
        func wait(_ bucket: Int, room: Int = 1) -> [UInt8] {
            bytes(RingWait(bucket: bucket, bell: .work, after: 0, server: 0, room: room))
        }
        for bucket in [0, RingBucket.count - 1] { #expect(isValue(wait(bucket), RingWait.self)) }
        for bucket in [-1, RingBucket.count, .max] { #expect(!isValue(wait(bucket), RingWait.self)) }
        #expect(isValue(wait(0, room: 0), RingWait.self) && !isValue(wait(0, room: -1), RingWait.self))
    }
}
