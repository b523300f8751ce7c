/// How a message failed, without what tells one failure from another of the same cause: why it is dead, and the first line of
/// its last error with `#` in place of each number.
public struct ErrorSignature: Hashable, Sendable {
    /// Why it is dead.
    public let reason: StateReason?
    /// The first line that is not blank, of at most ``Limits/signatureBytesMax`` bytes, with `#` for each run of digits.
    public let error: String

    /// The signature of a message that is dead because of `reason`, with an error of which only that line counts.
    public init(_ reason: StateReason?, _ error: String) {
        self.reason = reason
        self.error = Self.masked(error)
    }

    private static func masked(_ error: String) -> String {
        let isBreak = { (byte: UInt8) in byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
        let isBlank = { (byte: UInt8) in isBreak(byte) || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var line = error.utf8.drop(while: isBlank).prefix { !isBreak($0) }
        while let last = line.last, isBlank(last) { line.removeLast() }
        var bytes: [UInt8] = []
        for byte in line where !(byte.isDigit && bytes.last == UInt8(ascii: "#")) {
            if bytes.count == Limits.signatureBytesMax { break }
            bytes.append(byte.isDigit ? UInt8(ascii: "#") : byte)
        }
        // A character that is cut goes as a whole.
        while !bytes.isEmpty {
            if let text = String(validating: bytes, as: UTF8.self) { return text }
            bytes.removeLast()
        }
        return ""
    }
}
