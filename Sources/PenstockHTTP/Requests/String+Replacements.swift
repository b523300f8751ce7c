extension StringProtocol {
    /// Whether it has U+FFFD, which SwiftNIO puts where the bytes of a request are not UTF-8: what they were is not known any more.
    package var hasReplacements: Bool {
        // Its first byte is rare, and bytes are faster to look at.
        utf8.contains(0xEF) && unicodeScalars.contains("\u{FFFD}")
    }
}
