import PenstockCore

/// The name of a message as clients of Amazon SQS know it: its sequence number, written as a UUID.
enum MessageID {
    /// The UUID (RFC 9562, version 8) of a message.
    static func text(of sequence: SequenceNumber) -> String {
        let number = UInt64(bitPattern: sequence.rawValue)
        let (high, low) = (digits(number >> 48, 4), digits(number & 0xffff_ffff_ffff, 12))
        return "00000000-\(high)-8000-8000-\(low)"
    }

    /// The number of a message as Amazon's queues in order have it: twenty digits.
    static func sequenceText(of sequence: SequenceNumber) -> String {
        let digits = String(sequence.rawValue)
        return String(repeating: "0", count: max(0, 20 - digits.count)) + digits
    }

    private static func digits(_ number: UInt64, _ count: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
