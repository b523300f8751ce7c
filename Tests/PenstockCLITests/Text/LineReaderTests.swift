import Synchronization
import PenstockTestKit
import Testing

@testable import PenstockCLI

/// Gives bytes in pieces of chosen sizes, and has more at once for as long as a piece is not the last of its burst.
private final class Pieces: ByteSource {
    private struct State {
        var pieces: [[UInt8]]
        var reads = 0
    }

    private let state: Mutex<State>
    private let isEager: Bool

    /// - Parameter isEager: whether the next piece is always there already.
    init(_ pieces: [[UInt8]], isEager: Bool = true) {
        state = Mutex(State(pieces: pieces))
        self.isEager = isEager
    }

    var isReadable: Bool { isEager }
    var reads: Int { state.withLock { $0.reads } }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemFailure) -> Int {
        state.withLock { state in
            state.reads += 1
            guard var piece = state.pieces.first else { return 0 }
            let taken = piece.prefix(buffer.count)
            buffer.copyBytes(from: taken)
            piece.removeFirst(taken.count)
            if piece.isEmpty { state.pieces.removeFirst() } else { state.pieces[0] = piece }
            return taken.count
        }
    }
}

@Suite struct LineReaderTests {
    private func lines(
        _ pieces: [[UInt8]], max: Int = 100, skipsEmpty: Bool = false, bufferBytes: Int = 4
    ) throws -> [Line] {
        var reader = LineReader(Pieces(pieces), lineBytesMax: max, skipsEmpty: skipsEmpty, bufferBytes: bufferBytes)
        var lines: [Line] = []
        while let next = try reader.next(countMax: 3, bytesMax: .max) {
            #expect((1...3).contains(next.count))
            lines += next
        }
        return lines
    }

    private static func split(_ bytes: [UInt8]) -> [Line] {
        var parts = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
        if parts.last == [] { parts.removeLast() }
        return parts.enumerated().map { Line(number: $0 + 1, bytes: $1) }
    }

    /// Every way to cut a text into two or three pieces gives the same lines.
    @Test(arguments: ["", "\n", "a", "a\n", "\n\na", "one\ntwo\r\n\nthree", "one\ntwo\n", "\r\n\r", "abcdefghij\nk\n"])
    func anyCutGivesTheSameLines(text: String) throws {
        let bytes = Array(text.utf8)
        let expected = Self.split(bytes)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]].map(Array.init)
                let full = pieces.filter { !$0.isEmpty }
                for size in [1, 2, 5, 64] {
                    #expect(try lines(full, bufferBytes: size) == expected)
                }
            }
        }
    }

    @Test func anyBytesPassUnharmed() throws {
        var random = Seeded(5)
        for round in 0..<300 {
            let bytes = random.bytes(round)
            var pieces: [[UInt8]] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...9, using: &random)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(try lines(pieces, max: 1000, bufferBytes: 7) == Self.split(bytes))
        }
    }

    @Test func emptyLinesAreSkippedWhenAskedButCounted() throws {
        #expect(
            try lines([Array("\na\n\n\nb\n\n".utf8)], skipsEmpty: true)
                == [Line(number: 2, bytes: Array("a".utf8)), Line(number: 5, bytes: Array("b".utf8))])
    }

    @Test(arguments: ["\n", ""])
    func aLineMayBeAsLongAsTheLimit(end: String) throws {
        #expect(try lines([Array(("12345" + end).utf8)], max: 5) == [Line(number: 1, bytes: Array("12345".utf8))])
    }

    @Test(arguments: ["a\nb\n123456\nc\n", "a\nb\n123456", "a\nb\n1234567890123456789"])
    func aLongerLineIsNamedOnceTheOthersWereGiven(text: String) throws {
        for size in [1, 3, 64] {
            var reader = LineReader(Pieces([Array(text.utf8)]), lineBytesMax: 5, bufferBytes: size)
            #expect(try reader.next(countMax: 10, bytesMax: .max)?.map(\.bytes) == [[0x61], [0x62]])
            #expect(throws: LineReader<Pieces>.TooLong(number: 3)) { try reader.next(countMax: 10, bytesMax: .max) }
            #expect(throws: LineReader<Pieces>.TooLong(number: 3)) { try reader.next(countMax: 10, bytesMax: .max) }
        }
    }

    @Test func aLineWithoutEndIsRefusedBeforeItIsRead() throws {
        let source = Pieces(Array(repeating: [UInt8](repeating: 0x78, count: 8), count: 1000))
        var reader = LineReader(source, lineBytesMax: 20, bufferBytes: 8)
        #expect(throws: LineReader<Pieces>.TooLong(number: 1)) { try reader.next(countMax: 10, bytesMax: .max) }
        #expect(source.reads <= 4)
    }

    @Test func aBatchEndsAtItsBytes() throws {
        var reader = LineReader(Pieces([Array("aaa\nbbb\nccc\n".utf8)]), lineBytesMax: 5)
        #expect(try reader.next(countMax: 10, bytesMax: 4)?.count == 2)
        #expect(try reader.next(countMax: 10, bytesMax: 4)?.count == 1)
        #expect(try reader.next(countMax: 10, bytesMax: 4) == nil)
        #expect(reader.bytesRead == 12)
    }

    /// Lines of a source that pauses are given out at the pause, not when a batch is full.
    @Test func aPauseEndsABatch() throws {
        let source = Pieces([Array("a\nb".utf8), Array("c\nd\n".utf8)], isEager: false)
        var reader = LineReader(source, lineBytesMax: 5)
        #expect(try reader.next(countMax: 10, bytesMax: .max)?.map(\.bytes) == [[0x61]])
        #expect(source.reads == 1)
        #expect(try reader.next(countMax: 10, bytesMax: .max)?.map(\.bytes) == [[0x62, 0x63], [0x64]])
        #expect(try reader.next(countMax: 10, bytesMax: .max) == nil)
    }
}
