import Penstock
import Testing

@testable import PenstockCLI

/// How messages and answers are told apart in a stream of bytes.
@Suite struct AnswerReaderTests {
    /// What is found when `bytes` come in pieces of that many.
    private func answers(_ framing: Framing, _ bytes: [UInt8], piece: Int) throws -> ([Answer], isEmpty: Bool) {
        var reader = AnswerReader(framing, bytesMax: 100)
        var answers: [Answer] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes { reader.append($0) }
            while let answer = try reader.next() { answers.append(answer) }
        }
        return (answers, reader.isEmpty)
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func linesAreAnswers(piece: Int) throws {
        let (answers, isEmpty) = try answers(.lines, Array("a\n\nlong b\r\n\u{15}no\n".utf8), piece: piece)
        #expect(
            answers == [
                .done(Array("a".utf8)), .done([]), .done(Array("long b\r".utf8)), .refused(Array("no".utf8)),
            ])
        #expect(isEmpty)
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func framesAreAnswers(piece: Int) throws {
        let bytes: [UInt8] = [0, 0, 0, 2, 10, 0x15] + [0, 0, 0, 0] + [0x80, 0, 0, 1, 7] + [0, 0, 0, 9, 1]
        let (answers, isEmpty) = try answers(.frames, bytes, piece: piece)
        #expect(answers == [.done([10, 0x15]), .done([]), .refused([7])])
        #expect(!isEmpty)
    }

    @Test func anAnswerHasABound() throws {
        let most = [UInt8](repeating: 0x61, count: 100)
        #expect(try answers(.lines, most + [10], piece: 7).0 == [.done(most)])
        #expect(try answers(.lines, [0x15] + most + [10], piece: 7).0 == [.refused(most)])
        #expect(try answers(.frames, [0, 0, 0, 100] + most, piece: 7).0 == [.done(most)])
        #expect(throws: AnswerReader.TooLong.self) { try answers(.lines, most + [0x61, 10], piece: 200) }
        // A line without end is not waited for.
        #expect(throws: AnswerReader.TooLong.self) { try answers(.lines, most + [0x61, 0x61], piece: 7) }
        #expect(throws: AnswerReader.TooLong.self) { try answers(.frames, [0, 0, 0, 101], piece: 1) }
    }

    @Test func payloadsAreLinesOrFrames() throws {
        #expect(try Framing.lines.encoded(Array("a".utf8)) == Array("a\n".utf8))
        #expect(try Framing.lines.encoded(Array("a\n".utf8)) == Array("a\n".utf8))
        #expect(try Framing.lines.encoded([]) == [10])
        #expect(throws: Reject.self) { try Framing.lines.encoded(Array("a\nb".utf8)) }
        #expect(throws: Reject.self) { try Framing.lines.encoded(Array("a\n\n".utf8)) }
        #expect(try Framing.frames.encoded([10, 0]) == [0, 0, 0, 2, 10, 0])
        #expect(try Framing.frames.encoded([UInt8](repeating: 0, count: 0x010203)).prefix(4) == [0, 1, 2, 3])
    }

    @Test func refusalsSayWhatIsToHappen() throws {
        func error(_ words: String) -> any Error { Answer.error(of: Array(words.utf8)) }
        #expect((error("reject no such address") as? Reject)?.reason == "no such address")
        let later = try #require(error("retry-after 1m30s the server is busy") as? RetryAfter)
        #expect(later.delay == .seconds(90))
        #expect(later.reason == "the server is busy")
        #expect(!later.holdsGroup)
        let held = try #require(error("hold 1m30s 429") as? RetryAfter)
        #expect(held.delay == .seconds(90) && held.holdsGroup && held.reason == "429")
        // A command hands on what a foreign server says, and a group waits for it.
        #expect((error("hold 400d closed") as? RetryAfter)?.delay == .seconds(86_400))
        #expect((error("retry-after 400d closed") as? RetryAfter)?.delay == .seconds(400 * 86_400))
        #expect((error("retry-after soon") as? AttemptFailed)?.description == "retry-after soon")
        #expect((error("no luck") as? AttemptFailed)?.description == "no luck")
        // Of a long text the end is kept, and what it means stands in front.
        let long = String(repeating: "x", count: 6000)
        #expect(error("reject \(long)") is Reject)
        #expect((error("retry-after 30s \(long)") as? RetryAfter)?.delay == .seconds(30))
        #expect((error("") as? AttemptFailed)?.description == "The command refused it without a word.")
    }
}
