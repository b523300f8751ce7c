import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockDashboard

/// What charts are drawn of.
@Suite struct RingTests {
    private static func sample(_ waiting: Int, _ enqueued: Int) -> Sample {
        var (depths, totals) = (Depths(), Totals())
        depths.ready = waiting
        totals.enqueued = enqueued
        return Sample(depths, totals)
    }

    private static func second(_ second: Int64) -> Timestamp { Timestamp(microseconds: second * 1_000_000) }

    @Test func aRingKeepsTheLastStepsAndItsGaps() {
        var ring = Ring(stepSeconds: 5, countMax: 4)
        ring.record(Self.sample(1, 10), at: Self.second(100))
        ring.record(Self.sample(2, 20), at: Self.second(104))
        ring.record(Self.sample(3, 45), at: Self.second(105))
        ring.record(Self.sample(4, 45), at: Self.second(116))
        #expect(ring.values(\.waiting) == [2, 3, nil, 4])
        #expect(ring.rates(\.enqueued) == [nil, 25, nil, nil], "over the time that lies between two looks")
        ring.record(Self.sample(5, 55), at: Self.second(120))
        #expect(ring.values(\.waiting) == [3, nil, 4, 5])
        #expect(ring.rates(\.enqueued) == [nil, nil, nil, 2.5])
        ring.record(Self.sample(5, 56), at: Self.second(125))
        ring.record(Self.sample(5, 73), at: Self.second(129))
        ring.record(Self.sample(5, 73), at: Self.second(130))
        #expect(ring.rates(\.enqueued).suffix(2) == [2, nil], "A step that has only begun says nothing yet.")
        // A clock that was set back, and a pause longer than the ring, begin it anew.
        ring.record(Self.sample(6, 55), at: Self.second(90))
        #expect(ring.values(\.waiting) == [6])
        ring.record(Self.sample(7, 55), at: Self.second(9000))
        #expect(ring.values(\.waiting) == [7])
    }

    /// Most of many queues are as they are for hours, and each has rings.
    @Test func stepsInWhichNothingChangesAreKeptAsOne() {
        var ring = Ring(stepSeconds: 1, countMax: 100)
        let still = Self.sample(1, 5)
        #expect(still.waitMedian.isNaN)
        for second in 1...1000 { ring.record(still, at: Self.second(Int64(second))) }
        #expect(ring.keptCount == 1)
        #expect(ring.values(\.waiting) == [Double?](repeating: 1, count: 100))
        #expect(ring.rates(\.enqueued).first == .some(nil))
        #expect(Array(ring.rates(\.enqueued).dropFirst()) == [Double?](repeating: 0, count: 99))
        ring.record(Self.sample(1, 9), at: Self.second(1001))
        #expect(ring.keptCount == 2)
        #expect(ring.rates(\.enqueued).suffix(2) == [0, 4])
        ring.record(still, at: Self.second(1001))
        #expect((ring.keptCount, ring.values(\.waiting).count) == (1, 100))
    }

    /// A moment stays as it is while time goes on, so what waits for long takes no more memory than what does not.
    @Test func theOldestIsOlderWithEachStep() {
        func sample(_ oldest: Int64?) -> Sample {
            Sample(Depths(), Totals(), oldest: oldest.map(Self.second))
        }
        var ring = Ring(stepSeconds: 5, countMax: 6)
        ring.record(sample(nil), at: Self.second(100))
        ring.record(sample(103), at: Self.second(105))
        ring.record(sample(103), at: Self.second(110))
        ring.record(sample(103), at: Self.second(116))
        #expect(ring.keptCount == 2)
        #expect(ring.ages(\.oldest) == [0, 2, 7, 12])
        ring.record(sample(120), at: Self.second(126))
        // The clock of whoever enqueued it may be ahead.
        ring.record(sample(140), at: Self.second(131))
        #expect(ring.ages(\.oldest) == [2, 7, 12, nil, 6, 0])
    }

    /// A message that waits a thousandth of a second is not shown to wait for most of one.
    @Test func theOldestIsNoOlderThanItIs() {
        var ring = Ring(stepSeconds: 1, countMax: 6)
        for (oldest, now) in [(105_000_000, 105_250_000), (106_899_000, 106_900_000)] as [(Int64, Int64)] {
            let sample = Sample(Depths(), Totals(), oldest: Timestamp(microseconds: oldest))
            ring.record(sample, at: Timestamp(microseconds: now))
        }
        let ages = ring.ages(\.oldest).compactMap(\.self)
        #expect(ages.map { ($0 * 1000).rounded() } == [250, 1])
    }

    /// Whatever is kept as one, a chart shows each step.
    @Test func aRingIsTheLastStepsWhateverTheyWere() {
        let seed = UInt64.random(in: 0 ... .max)
        let random = SeededRandom(seed: seed)
        var ring = Ring(stepSeconds: 5, countMax: 20)
        var looks: [Int64: (waiting: Double, time: Double)] = [:]
        var (now, number) = (Int64(1000), 0)
        var begin: Int64?
        for _ in 1...2000 {
            now += [0, 1, 3, 5, 5, 5, 5, 12][Int(random.next() % 8)]
            if random.next() % 3 == 0 { number += Int(random.next() % 5) }
            ring.record(Self.sample(number, number), at: Self.second(now))
            let step = now / 5
            looks[step] = (Double(number), Double(now))
            let first = max(begin ?? step, step - 19)
            begin = first
            let waiting: [Double?] = (first...step).map { looks[$0]?.waiting }
            #expect(ring.values(\.waiting) == waiting, "seed \(seed)")
            let rates: [Double?] = (first...step).map { each in
                guard each > first, let now = looks[each], let before = looks[each - 1] else { return nil }
                if each == step, now.time - before.time < 2.5 { return nil }
                return now.time <= before.time ? nil : (now.waiting - before.waiting) / (now.time - before.time)
            }
            #expect(ring.rates(\.enqueued) == rates, "seed \(seed)")
        }
    }

    @Test func numbersThatHaveGrownBeyond32BitsGiveTheirDifference() {
        var ring = Ring(stepSeconds: 1, countMax: 4)
        ring.record(Self.sample(0, Int(UInt32.max) - 1), at: Self.second(1))
        ring.record(Self.sample(0, Int(UInt32.max) + 8), at: Self.second(2))
        // Made anew: its totals are lower, and no rate is told.
        ring.record(Self.sample(0, 0), at: Self.second(3))
        #expect(ring.rates(\.enqueued) == [nil, 9, nil])
    }
}
