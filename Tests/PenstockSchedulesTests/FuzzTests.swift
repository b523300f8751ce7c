import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSchedules

/// Specs by chance, against the slow way.
@Suite struct FuzzTests {
    @Test("By the minute, over three days of any zone", arguments: 0..<8)
    func byTheMinute(_ part: Int) throws {
        for seed in part * 25..<(part + 1) * 25 {
            let random = SeededRandom(seed: UInt64(seed))
            let slow = SlowSpec.random(random, withSeconds: false)
            guard let spec = try? ScheduleSpec(slow.text) else { continue }
            let zone = try zone(random.pick(SlowTransitionTests.names) ?? "UTC")
            // Half of them around a change of the clocks, in years of the file or beyond it.
            let year = try moment("\(random.next(in: 1990...2090))-01-01").microseconds / 1_000_000
            let span = zone.span(at: year + Int64(random.next(in: 0...31_000_000)))
            let isNear = random.chance(0.5) && span.end < Zone.distantFuture
            let start = isNear ? span.end - 129_600 : year + Int64(random.next(in: 0...500_000)) * 60
            let times = (0...4320).map { minute in
                let second = start + 60 * Int64(minute)
                return second + zone.span(at: second).offset
            }
            // The slow way begins with what the clock shows; what it showed a moment before would be out of its sight.
            guard zone.latestShown(until: start) == times[0], times[0] % 60 == 0 else { continue }
            #expect(
                spec.seconds(after: start, until: start + 4320 * 60, in: zone)
                    == slow.firings(after: start, times: times, step: 60),
                "seed \(seed): '\(slow.text)' in \(zone.name) after \(start)")
        }
    }

    @Test("By the day, over forty years")
    func byTheDay() throws {
        for seed in 0..<150 {
            let random = SeededRandom(seed: UInt64(seed))
            var slow = SlowSpec.random(random, withSeconds: false)
            // One time of the day, so that the days can be looked at alone.
            let words = slow.text.split(separator: " ")
            slow.text = "30 12 " + words.suffix(3).joined(separator: " ")
            guard let spec = try? ScheduleSpec(slow.text) else { continue }
            slow.hours = (0..<24).map { $0 == 12 }
            slow.minutes = (0..<60).map { $0 == 30 }
            let first = Int64(random.next(in: 0...30_000))
            let noon = (first...(first + 14_610)).first { slow.matches($0 * 86_400 + 45_000) }
            let next = spec.next(after: Timestamp(microseconds: first * 86_400_000_000), in: .utc)
            if let noon {
                #expect(next?.microseconds == (noon * 86_400 + 45_000) * 1_000_000, "seed \(seed): \(slow.text)")
            } else {
                #expect((next?.microseconds ?? .max) > (first + 14_610) * 86_400_000_000, "seed \(seed): \(slow.text)")
            }
        }
    }

    @Test("What is refused as impossible is never matched")
    func impossible() throws {
        var refusedCount = 0
        for seed in 0..<3000 {
            let slow = SlowSpec.random(SeededRandom(seed: UInt64(seed)), withSeconds: false)
            guard (try? ScheduleSpec(slow.text)) == nil else { continue }
            refusedCount += 1
            guard refusedCount <= 10 else { continue }
            let days = (Int64(0)..<146_097).lazy.filter { day in
                let date = CivilDay(daysSinceEpoch: day)
                return slow.months[Int(date.month)]
                    && slow.matches(
                        day: Int(date.day), length: CivilDay.length(ofMonth: date.month, in: date.year),
                        weekday: CivilDay.weekday(daysSinceEpoch: day))
            }
            #expect(days.isEmpty, "seed \(seed): \(slow.text)")
        }
        #expect(refusedCount > 0)
    }
}
