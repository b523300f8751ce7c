import Testing

@testable import PenstockCLI

@Suite struct ErrorTailTests {
    @Test func keepsTheEnd() {
        var tail = ErrorTail(bytesMax: 8)
        tail.append(Array("abc".utf8))
        #expect(tail.text == "abc")
        tail.append(Array("defghi\n".utf8))
        #expect(tail.text == "cdefghi")
        tail.append(Array("0123456789\r\n\n".utf8))
        #expect(tail.text == "56789")
    }

    @Test func cutsNoCharacterInTwo() {
        var tail = ErrorTail(bytesMax: 4)
        tail.append(Array("漢字".utf8))
        #expect(tail.text == "字")
    }

    @Test func bytesThatAreNotTextStayVisibleAndWithinTheLimit() {
        var tail = ErrorTail(bytesMax: 16)
        tail.append([0x61, 0xFF, 0x00, 0x0A, 0x62])
        #expect(tail.text == "a\\xFF\\x00\nb")
        tail.append([UInt8](repeating: 0xFF, count: 16))
        #expect(tail.text == "\\xFF\\xFF\\xFF\\xFF")
        tail.append(Array("漢漢漢漢".utf8) + [0xFF, 0xFF])
        #expect(tail.text == "漢漢\\xFF\\xFF")
    }
}
