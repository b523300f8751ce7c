import HTTPTypes
import NIOCore
import PenstockHTTP

/// Takes a body apart at its line ends, whatever parts it comes in.
struct Lines {
    struct Line {
        /// 1 for the first.
        var number: Int
        var bytes: ArraySlice<UInt8>
    }

    let lineBytesMax: Int
    let countMax: Int
    /// How many lines there were.
    private(set) var count = 0
    private var begun: [UInt8] = []

    init(lineBytesMax: Int, countMax: Int) {
        self.lineBytesMax = lineBytesMax
        self.countMax = countMax
    }

    /// The lines that end in `part`.
    ///
    /// - Throws: a problem with status 413 when a line is too long, or there are too many.
    mutating func take(_ part: ByteBufferView) throws(Problem) -> [Line] {
        var lines: [Line] = []
        var left = part
        while let end = left.firstIndex(of: UInt8(ascii: "\n")) {
            begun.append(contentsOf: left[..<end])
            try check()
            count += 1
            lines.append(Line(number: count, bytes: begun[...]))
            begun = []
            left = left[(end + 1)...]
        }
        begun.append(contentsOf: left)
        try check()
        return lines
    }

    /// What follows the last line end; `nil` when nothing does.
    mutating func last() -> Line? {
        if begun.isEmpty { return nil }
        count += 1
        defer { begun = [] }
        return Line(number: count, bytes: begun[...])
    }

    private func check() throws(Problem) {
        guard begun.count <= lineBytesMax else {
            throw Problem(.contentTooLarge, code: "tooLarge", "A line has at most \(lineBytesMax) bytes.")
        }
        guard count < countMax || begun.isEmpty else {
            throw Problem(
                .contentTooLarge, code: "tooLarge", "A body has at most \(countMax) lines; send the rest in another.")
        }
    }
}
