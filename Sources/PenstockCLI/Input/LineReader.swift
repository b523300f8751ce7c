/// Where a ``LineReader`` gets its bytes.
protocol ByteSource {
    /// Reads up to the size of `buffer`; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemFailure) -> Int
    /// Whether a read would return at once.
    var isReadable: Bool { get }
}

extension Descriptor: ByteSource {}

/// One line of the input, without its end.
struct Line: Equatable {
    /// 1 for the first.
    var number: Int
    var bytes: [UInt8]
}

/// Splits bytes into lines, and holds no more of them than one batch and one line.
///
/// A line ends with `\n`, and nothing else is looked at: a `\r` before it belongs to the line, and bytes that are no
/// UTF-8 pass unharmed. What follows the last `\n` is a line too, unless it is empty.
struct LineReader<Source: ByteSource> {
    /// A line that is longer than it may be.
    struct TooLong: Error, Equatable {
        var number: Int
    }

    private(set) var bytesRead = 0

    private let source: Source
    private let lineBytesMax: Int
    private let skipsEmpty: Bool
    private var buffer: [UInt8]
    /// Where the line begins that was not given out yet.
    private var start = 0
    /// Up to where no line end was found.
    private var scanned = 0
    private var end = 0
    private var lines = 0
    private var atEnd = false
    private var tooLong: TooLong?

    init(_ source: Source, lineBytesMax: Int, skipsEmpty: Bool = false, bufferBytes: Int = 256 * 1024) {
        self.source = source
        self.lineBytesMax = lineBytesMax
        self.skipsEmpty = skipsEmpty
        buffer = [UInt8](repeating: 0, count: max(1, bufferBytes))
    }

    /// The next lines: up to `countMax` of them and about `bytesMax` bytes, but no fewer than one. Does not wait for
    /// more while it has some, so that a slow source's lines are not held back.
    ///
    /// - Returns: `nil` at the end.
    /// - Throws: ``TooLong``, once all lines before that one were given out; ``SystemFailure``.
    mutating func next(countMax: Int, bytesMax: Int) throws -> [Line]? {
        var batch: [Line] = []
        var bytes = 0
        while batch.count < countMax, bytes < bytesMax {
            do {
                guard let line = try nextLine(mayWait: batch.isEmpty) else { break }
                if skipsEmpty && line.bytes.isEmpty { continue }
                bytes += line.bytes.count
                batch.append(line)
            } catch let error as TooLong {
                tooLong = error
                break
            }
        }
        if batch.isEmpty, let tooLong { throw tooLong }
        return batch.isEmpty ? nil : batch
    }

    /// The next line, or `nil` at the end, or when there is none yet and `mayWait` is false.
    private mutating func nextLine(mayWait: Bool) throws -> Line? {
        while true {
            if let tooLong { throw tooLong }
            if let lineEnd = findLineEnd() {
                return try take(upTo: lineEnd, next: lineEnd + 1)
            }
            guard end - start <= lineBytesMax else { throw TooLong(number: lines + 1) }
            if atEnd {
                return start < end ? try take(upTo: end, next: end) : nil
            }
            guard mayWait || source.isReadable else { return nil }
            try fill()
        }
    }

    private mutating func take(upTo lineEnd: Int, next: Int) throws -> Line {
        guard lineEnd - start <= lineBytesMax else { throw TooLong(number: lines + 1) }
        lines += 1
        let line = Line(number: lines, bytes: Array(buffer[start..<lineEnd]))
        start = next
        scanned = next
        return line
    }

    private mutating func findLineEnd() -> Int? {
        let found = buffer.withUnsafeBytes { bytes -> Int? in
            guard scanned < end, let base = bytes.baseAddress else { return nil }
            guard let hit = memchr(base + scanned, 0x0A, end - scanned) else { return nil }
            return UnsafeRawPointer(hit) - base
        }
        if found == nil { scanned = end }
        return found
    }

    /// Reads once, having made room: what was given out goes, and a line that fills the buffer doubles it.
    private mutating func fill() throws {
        if start > 0 {
            let kept = start..<end
            buffer.withUnsafeMutableBytes { bytes in
                if let base = bytes.baseAddress { _ = memmove(base, base + kept.lowerBound, kept.count) }
            }
            end -= start
            scanned -= start
            start = 0
        }
        if end == buffer.count {
            buffer += [UInt8](repeating: 0, count: buffer.count)
        }
        let free = end...
        let count = try buffer.withUnsafeMutableBytes { [source] bytes in
            try source.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[free]))
        }
        end += count
        bytesRead += count
        atEnd = count == 0
    }
}
