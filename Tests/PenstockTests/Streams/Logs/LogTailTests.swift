import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

@Suite struct LogTailTests {
    static func item(_ number: Int, bytes: Int = 1) -> LogItem<Int> {
        LogItem(sequence: SequenceNumber(Int64(number)), ordinal: number, bytes: bytes, value: .success(number))
    }

    static func place(_ number: Int) -> LogPlace {
        LogPlace(sequence: SequenceNumber(Int64(number)), ordinal: number)
    }

    private func numbers(_ tail: LogTail<Int>, after: Int, limit: Int = 99) -> [Int] {
        tail.items(after: SequenceNumber(Int64(after)), limit: limit).map(\.ordinal)
    }

    @Test func givesWhatIsBehindAPlace() {
        var tail = LogTail<Int>(at: Self.place(10))
        #expect(numbers(tail, after: 0).isEmpty)
        tail.extend([12, 15, 16].map { Self.item($0) }, reach: Self.place(20))
        #expect(numbers(tail, after: 10) == [12, 15, 16])
        #expect(numbers(tail, after: 12) == [15, 16])
        #expect(numbers(tail, after: 13) == [15, 16])
        #expect(numbers(tail, after: 10, limit: 2) == [12, 15])
        #expect(numbers(tail, after: 16).isEmpty)
        #expect(numbers(tail, after: 99).isEmpty)
        #expect(tail.reach == Self.place(20))
    }

    @Test func keepsSoManyAndSoMuch() {
        var tail = LogTail<Int>(at: Self.place(0), countMax: 4, bytesMax: 100)
        for number in 1...99 { tail.extend([Self.item(number)], reach: Self.place(number)) }
        #expect(tail.count == 4)
        #expect(tail.base == Self.place(95))
        #expect(numbers(tail, after: 95) == [96, 97, 98, 99])
        tail.extend([Self.item(100, bytes: 99)], reach: Self.place(100))
        #expect(numbers(tail, after: 0) == [99, 100])
        tail.extend([Self.item(101, bytes: 500)], reach: Self.place(101))
        #expect(numbers(tail, after: 0) == [101], "One stays, however large.")
        tail.trim(to: 0)
        #expect(tail.count == 0 && tail.base == Self.place(101))
    }

    /// Beside a plain array of what there should be.
    @Test func givesPortionsInOrderAndWithoutGaps() {
        let random = SeededRandom(seed: 5)
        func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
        var tail = LogTail<Int>(at: Self.place(0), countMax: 200, bytesMax: .max)
        var model: [Int] = []
        var last = 0
        for _ in 0..<3000 {
            let count = [1, 1, 1, 5, 31, 32, 100, 500][pick(8)]
            tail.extend((last + 1...last + count).map { Self.item($0) }, reach: Self.place(last + count))
            model = (model + Array(last + 1...last + count)).suffix(200)
            last += count
            if pick(10) == 0 {
                let kept = pick(200)
                tail.trim(to: kept)
                model = model.suffix(kept)
            }
            #expect(tail.count == model.count && tail.base.ordinal == last - model.count)
            let after = tail.base.ordinal + pick(model.count + 2)
            let limit = [1, 32, 64, 512][pick(4)]
            let behind = model.filter { $0 > after }
            let portion = tail.portion(after: SequenceNumber(Int64(after)), limit: limit).map(\.ordinal)
            #expect(portion == Array(behind.prefix(portion.count)))
            #expect(portion.count <= limit && portion.isEmpty == behind.isEmpty)
            #expect(portion.count >= min(limit, 32, behind.count), "None comes for one value at a time.")
            #expect(numbers(tail, after: after, limit: limit) == Array(behind.prefix(limit)))
        }
    }
}
