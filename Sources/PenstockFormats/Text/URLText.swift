import PenstockCore

/// Text as a part of an address.
package enum URLText {
    /// `text` with every byte escaped but letters, digits and `marks`; these are the four that RFC 3986 calls unreserved, or more.
    package static func escape(_ text: String, but marks: String = "-_.~") -> String {
        var escaped = ""
        for byte in text.utf8 {
            if byte.isLetterOrDigit || marks.utf8.contains(byte) {
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                escaped += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return escaped
    }
}
