import Testing

@testable import PenstockCLI

/// Lines of the command's log that nobody has read yet.
struct PendingLinesTests {
    @Test func linesComeOutWholeAndInOrder() {
        var lines = PendingLines()
        let asks = [lines.add("first"), lines.add("second")]
        #expect(asks == [true, false], "Somebody is about to take them.")
        var taken = lines.take()
        #expect(String(decoding: taken.bytes, as: UTF8.self) == "first\nsecond\n" && taken.leftOut == 0)
        let asksAgain = lines.add("third")
        #expect(asksAgain)
        taken = lines.take()
        #expect(String(decoding: taken.bytes, as: UTF8.self) == "third\n")
    }

    @Test func whatNobodyReadsTakesNoMoreThanItsRoom() {
        var lines = PendingLines()
        let line = String(repeating: "x", count: 99)
        for _ in 0..<20_000 { _ = lines.add(line) }
        var taken = lines.take()
        #expect(taken.bytes.count <= PendingLines.bytesMax)
        #expect(taken.bytes.count / 100 + taken.leftOut == 20_000 && taken.leftOut > 0)
        _ = lines.add("after")
        taken = lines.take()
        #expect(String(decoding: taken.bytes, as: UTF8.self) == "after\n" && taken.leftOut == 0)
    }
}
