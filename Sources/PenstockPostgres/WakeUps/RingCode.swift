import PenstockCore
import PenstockProcesses

/// A ring as a notification says it.
extension Ring {
    /// What it is for, a letter; and for work how many messages there are, and the queue's tag.
    var code: String {
        if isForAll { return "a" }
        return switch change {
        case .work: "w\(messages).\(tag)"
        case .room: "r"
        case .log: "l"
        }
    }

    /// Reads a bucket and a ``code``.
    static func decoded(_ text: Substring) -> (bucket: Int, ring: Ring)? {
        guard let mark = text.firstIndex(where: \.isLetter), let bucket = Int(text[..<mark]),
            (0..<RingBucket.count).contains(bucket)
        else { return nil }
        let numbers = text[text.index(after: mark)...].split(separator: ".")
        var ring = Ring()
        switch text[mark] {
        case "a": ring.isForAll = true
        case "w":
            ring.messages = numbers.first.flatMap { Int($0) }.map { max($0, 1) } ?? 1
            ring.tag = numbers.last.flatMap { UInt16($0) } ?? 0
        case "r": ring.makesRoom = true
        case "l": break
        default: return nil
        }
        return (bucket, ring)
    }
}
