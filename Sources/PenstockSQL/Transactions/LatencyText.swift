import PenstockCore

/// Latencies as `penstock_depth` holds them: a JSON array of whole numbers.
///
/// Every transaction in which a message is claimed or settled writes these, so both are done by hand.
enum LatencyText {
    /// How many digits the largest number has.
    private static let digitsMax = 19

    /// The text, or `nil` when nothing was counted.
    static func encode(_ histogram: LatencyHistogram) -> String? {
        if histogram.isEmpty { return nil }
        let numbers = histogram.stored
        return String(unsafeUninitializedCapacity: numbers.count * (digitsMax + 1) + 1) { bytes in
            var end = 0
            for number in numbers {
                bytes[end] = UInt8(ascii: end == 0 ? "[" : ",")
                end = write(number, to: bytes, at: end + 1)
            }
            bytes[end] = UInt8(ascii: "]")
            return end + 1
        }
    }

    /// Writes a number that is not negative, and gives the place behind it.
    private static func write(_ number: Int64, to bytes: UnsafeMutableBufferPointer<UInt8>, at start: Int) -> Int {
        var end = start + 1
        var rest = number
        while rest >= 10 {
            rest /= 10
            end += 1
        }
        rest = number
        for index in (start..<end).reversed() {
            bytes[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        return end
    }

    /// What a text holds. Any other text counts as none: the file may be anybody's.
    static func decode(_ text: String?) -> LatencyHistogram {
        guard let text, let numbers = numbers(of: text) else { return LatencyHistogram() }
        return LatencyHistogram(stored: numbers) ?? LatencyHistogram()
    }

    private static func numbers(of text: String) -> [Int64]? {
        var bytes = text.utf8[...]
        guard bytes.popFirst() == UInt8(ascii: "["), bytes.popLast() == UInt8(ascii: "]") else { return nil }
        var numbers: [Int64] = []
        var number: Int64?
        for byte in bytes {
            if byte == UInt8(ascii: ","), let whole = number {
                numbers.append(whole)
                number = nil
            } else if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                let (tenfold, isTooLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
                let (sum, isLarger) = tenfold.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
                if isTooLarge || isLarger { return nil }
                number = sum
            } else {
                return nil
            }
        }
        guard let number else { return nil }
        return numbers + [number]
    }
}
