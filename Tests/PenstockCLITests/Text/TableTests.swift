import Testing

@testable import PenstockCLI

@Suite struct TableTests {
    @Test func keepsColumnsInLine() {
        var table = Table([.number("SEQ"), .text("QUEUE"), .text("PAYLOAD", widthMax: 8)])
        table.add(["1", "mail", "hello"])
        table.add(["12345", "a longer name", "0123456789"])
        table.add(["7", "漢字", ""])
        #expect(
            table.lines == [
                "  SEQ  QUEUE          PAYLOAD",
                "    1  mail           hello",
                "12345  a longer name  0123456…",
                "    7  漢字",
            ])
    }

    @Test func ofNoRowsIsItsTitles() {
        let table = Table([.text("NAME"), .number("READY")])
        #expect(table.lines == ["NAME  READY"])
    }

    @Test(arguments: [
        ("", 0), ("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("👩‍👩‍👧", 2), ("Ж", 1), ("한", 2), ("ｆ", 2),
    ])
    func knowsWidths(text: String, width: Int) {
        #expect(Columns.width(of: text) == width)
    }

    @Test(arguments: [("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("漢字漢", 4, "漢…"), ("漢字漢", 5, "漢字…")])
    func cuts(text: String, most: Int, kept: String) {
        #expect(Columns.cut(text, to: most) == kept)
        #expect(Columns.width(of: Columns.cut(text, to: most)) <= most)
    }
}
