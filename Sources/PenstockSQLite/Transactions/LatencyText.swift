import PenstockCore

/// Latencies as `penstock_depth` holds them: a JSON array of whole numbers.
///
/// Every transaction in which a message is claimed or settled reads and writes these, so both are done by hand.
enum LatencyText {
    /// The text, or `nil` when nothing was counted.
    static func encode(_ histogram: LatencyHistogram) -> String? {
        if histogram.isEmpty { return nil }
        var text = "["
        for number in histogram.stored {
            if text.utf8.count > 1 { text += "," }
            text += String(number)
        }
        return text + "]"
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
