import PenstockTestKit
import Testing

@testable import PenstockSQL

/// How the messages are put together that a statement is about.
@Suite struct MessageSetTests {
    private func words(_ sequences: [Int64]) -> [String] {
        MessageSet(inOrder: sequences).parts.map { part in
            switch part {
            case .range(let range): "\(range)"
            case .list(.text(let json)): json
            case .list(let other): "\(other)"
            }
        }
    }

    @Test func neighboursAreARange() {
        #expect(words([]) == [])
        #expect(words([7]) == ["7...7"])
        #expect(words([7, 8, 9]) == ["7...9"])
        #expect(words(Array(1...1000)) == ["1...1000"])
    }

    @Test func whatStandsAloneIsListed() {
        #expect(words([1, 3, 5, 6]) == ["[1,3,5,6]"])
        #expect(words([2] + (10...40) + [50, 51]) == ["10...40", "[2,50,51]"])
    }

    @Test func theLastNumberThereIsHasNoNeighbour() {
        #expect(words([.max - 1, .max]) == ["\(Int64.max - 1)...\(Int64.max)"])
        #expect(words([.min, .max]) == ["[\(Int64.min),\(Int64.max)]"])
    }
}
