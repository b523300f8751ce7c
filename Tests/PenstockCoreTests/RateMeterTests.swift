import PenstockTestKit
import Testing

@testable import PenstockCore

/// The bound of a rate, by chance: what starts when it may, some of which is given back.
@Suite struct RateMeterTests {
    @Test(arguments: 1...2_000 as ClosedRange<UInt64>)
    func noPeriodHasMoreStartsThanItsRate(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let rate = Rate(
            random.next(in: 1...6), per: random.pick([.milliseconds(1), .milliseconds(100), .seconds(10)]) ?? .zero,
            burst: random.next(in: 1...4))
        let meter = RateMeter(rate)
        var (now, tat): (Int64, Int64) = (1_000, 0)
        var starts: [Int64] = []
        for _ in 1...300 {
            let (interval, most) = (Int(meter.interval), 3 * Int(meter.interval))
            now += Int64(random.pick([0, 0, 1, random.next(in: 0...interval), random.next(in: 0...most)]) ?? 0)
            tat = meter.kept(tat, at: now)
            if random.chance(0.6) {
                let count = min(meter.startCount(tat, at: now), Int64(random.next(in: 1...3)))
                if count > 0 { tat = meter.tat(tat, afterStarts: count, at: now) }
                starts += Array(repeating: now, count: Int(count))
            } else if !starts.isEmpty {
                let index = random.next(in: max(0, starts.count - 4)...starts.count - 1)
                guard let left = meter.tat(tat, withoutStart: now - starts[index], at: now) else { continue }
                tat = left
                starts.remove(at: index)
            }
        }
        let most = rate.count + rate.burst - 1
        for (first, next) in zip(starts, starts.dropFirst(most)) {
            #expect(next - first >= rate.period.wholeMicroseconds, "\(rate), seed \(seed)")
        }
    }

    /// One that nothing has followed leaves no trace.
    @Test func theLastStartIsGivenBackWhole() {
        let meter = RateMeter(Rate(1, per: .seconds(60)))
        let after = meter.tat(0, afterStarts: 1, at: 5_000_000)
        let left = meter.tat(after, withoutStart: 30_000_000, at: 35_000_000)
        #expect(left.map { meter.startCount($0, at: 35_000_000) } == 1)
    }
}
