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

    /// The lines that end in `part`, and why it is not all of them: a problem with status 413 when the next one is too long, or there
    /// are too many. Those before it are good.
    mutating func take(_ part: ByteBufferView) -> (lines: [Line], problem: Problem?) {
        var lines: [Line] = []
        var left = part
        while let end = left.firstIndex(of: UInt8(ascii: "\n")) {
            begun.append(contentsOf: left[..<end])
            // An empty line counts as well, or a body of them would have no end.
            if let problem = problem(isWhole: true) { return (lines, problem) }
            count += 1
            lines.append(Line(number: count, bytes: begun[...]))
            begun = []
            left = left[(end + 1)...]
        }
        begun.append(contentsOf: left)
        return (lines, problem(isWhole: false))
    }

    /// What follows the last line end; `nil` when nothing does.
    mutating func last() -> Line? {
        if begun.isEmpty { return nil }
        count += 1
        defer { begun = [] }
        return Line(number: count, bytes: begun[...])
    }

    /// What is wrong with the line that has begun, if one has.
    private func problem(isWhole: Bool) -> Problem? {
        guard begun.count <= lineBytesMax else {
            return Problem(.contentTooLarge, code: "tooLarge", "A line has at most \(lineBytesMax) bytes.")
        }
        guard count < countMax || begun.isEmpty && !isWhole else {
            return Problem(
                .contentTooLarge, code: "tooLarge", "A body has at most \(countMax) lines; send the rest in another.")
        }
        return nil
    }
}
