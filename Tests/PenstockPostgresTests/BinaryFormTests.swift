import Testing

@testable import PenstockPostgres

/// Values in the server's binary form, against bytes that a server sends.
struct BinaryFormTests {
    private func integer(_ bytes: [UInt8], _ type: UInt32) -> Int64 {
        bytes.withUnsafeBytes { BinaryForm.integer($0, type) }
    }

    @Test func wholeNumbersOfAllWidths() {
        #expect(integer([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE], BinaryForm.integer) == -2)
        #expect(integer([0, 0, 1, 0], BinaryForm.mediumInteger) == 256)
        #expect(integer([0x80, 0], BinaryForm.smallInteger) == -32768)
        #expect(integer([1], BinaryForm.boolean) == 1)
        #expect(BinaryForm.encode(Int64(258)) == [0, 0, 0, 0, 0, 0, 1, 2])
        #expect(integer(BinaryForm.encode(Int64.min), BinaryForm.integer) == .min)
    }

    /// `sum(bigint)` is a decimal: here 123,456,789 in digits of base 10,000; and -0.5, and nothing.
    @Test func decimals() {
        #expect(integer([0, 3, 0, 2, 0, 0, 0, 0, 0, 1, 0x09, 0x29, 0x1A, 0x85], BinaryForm.numeric) == 123_456_789)
        let half: [UInt8] = [0, 1, 0xFF, 0xFF, 0x40, 0, 0, 1, 0x13, 0x88]
        #expect(half.withUnsafeBytes { BinaryForm.real($0, BinaryForm.numeric) } == -0.5)
        #expect(integer([0, 0, 0, 0, 0, 0, 0, 0], BinaryForm.numeric) == 0)
    }

    @Test func numbersBeyondTheRangeAreItsEnds() {
        #expect(integer(BinaryForm.encode(1e30), BinaryForm.real) == .max)
        #expect(integer(BinaryForm.encode(-1e30), BinaryForm.real) == .min)
        #expect(integer(BinaryForm.encode(Double.nan), BinaryForm.real) == 0)
    }

    @Test func aTextHasNoZeroBytes() {
        #expect(BinaryForm.encode("a\0b") == Array("a\u{FFFD}b".utf8))
    }
}
