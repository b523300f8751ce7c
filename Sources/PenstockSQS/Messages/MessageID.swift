import PenstockCore

/// The name of a message as clients of Amazon SQS know it: its sequence number, written as a UUID.
enum MessageID {
    /// The UUID (RFC 9562, version 8) of a message.
    static func text(of sequence: SequenceNumber) -> String {
        let number = UInt64(bitPattern: sequence.rawValue)
        let digits = padded(String(number, radix: 16), 16)
        return "00000000-\(digits.prefix(4))-8000-8000-\(digits.suffix(12))"
    }

    /// The number of a message as Amazon's queues in order have it: twenty digits.
    static func sequenceText(of sequence: SequenceNumber) -> String {
        padded(String(sequence.rawValue), 20)
    }

    private static func padded(_ digits: String, _ count: Int) -> String {
        String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
