/// Base64 as in RFC 4648, section 4, with padding.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        let count = (bytes.count + 2) / 3 * 4
        return String(unsafeUninitializedCapacity: count) { text in
            var (from, to) = (0, 0)
            while from < bytes.count {
                let left = bytes.count - from
                let second = left > 1 ? Int(bytes[from + 1]) : 0
                let bits = Int(bytes[from]) << 16 | second << 8 | (left > 2 ? Int(bytes[from + 2]) : 0)
                text[to] = alphabet[bits >> 18 & 63]
                text[to + 1] = alphabet[bits >> 12 & 63]
                text[to + 2] = left > 1 ? alphabet[bits >> 6 & 63] : UInt8(ascii: "=")
                text[to + 3] = left > 2 ? alphabet[bits & 63] : UInt8(ascii: "=")
                (from, to) = (from + 3, to + 4)
            }
            return count
        }
    }
}
