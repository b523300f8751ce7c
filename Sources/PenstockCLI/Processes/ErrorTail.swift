import PenstockFormats

/// The end of what a command wrote to its standard error.
struct ErrorTail: Sendable {
    private let bytesMax: Int
    private var bytes: [UInt8] = []
    private var isCut = false

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    mutating func append(_ more: [UInt8]) {
        isCut = isCut || bytes.count + more.count > bytesMax
        bytes = more.count >= bytesMax ? Array(more.suffix(bytesMax)) : (bytes + more).suffix(bytesMax)
    }

    /// The end as text, without the line ends that close it. Never longer than the bytes allowed.
    var text: String {
        var end = bytes[...]
        if isCut { end = Self.wholeCharacters(end) }
        while let last = end.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { end.removeLast() }
        let text = Escape.kept(end)
        // Bytes that are not UTF-8 take four characters each, so the text may be longer than the bytes were.
        guard text.utf8.count > bytesMax else { return text }
        return String(decoding: Self.wholeCharacters(Array(text.utf8).suffix(bytesMax)), as: UTF8.self)
    }

    /// `bytes` without what is left of a character that was cut in two: it would show as garbage.
    private static func wholeCharacters(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.drop { $0 & 0b1100_0000 == 0b1000_0000 }
    }
}
