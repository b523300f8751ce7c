import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSchedules

/// Every change of the clocks of twenty zones in ten years, second by second.
@Suite struct SlowTransitionTests {
    static let names = [
        "America/New_York", "America/Los_Angeles", "America/Sao_Paulo", "America/Santiago", "America/Havana",
        "America/St_Johns", "America/Nuuk", "Europe/London", "Europe/Dublin", "Europe/Paris", "Europe/Chisinau",
        "Africa/Casablanca", "Africa/Cairo", "Asia/Amman", "Asia/Beirut", "Asia/Tehran", "Australia/Lord_Howe",
        "Australia/Sydney", "Pacific/Chatham", "Antarctica/Troll",
    ]

    @Test("Each second around each change", arguments: names)
    func eachSecond(_ name: String) throws {
        let zone = try zone(name)
        var at = try moment("2016-01-01").microseconds / 1_000_000
        let end = try moment("2026-01-01").microseconds / 1_000_000
        let random = SeededRandom(seed: UInt64(name.utf8.reduce(0) { $0 * 31 % 65_521 + Int($1) }))
        var changeCount = 0
        while true {
            let span = zone.span(at: at)
            guard span.end < end else { break }
            at = span.end
            changeCount += 1
            let after = zone.span(at: at).offset
            // Seconds before and after the change that are looked at: all that is skipped or comes twice.
            let reach = abs(after - span.offset) + 600
            let start = at - reach
            let times = (0...(2 * reach)).map {
                start + $0 + ($0 < reach ? span.offset : after)
            }
            for slow in SlowTransitionTests.specs(at: times[Int(reach)], random) {
                let spec = try ScheduleSpec(slow.text)
                #expect(
                    spec.seconds(after: start, until: start + 2 * reach, in: zone)
                        == slow.firings(after: start, times: times, step: 1),
                    "'\(slow.text)' in \(name) around \(at)")
            }
        }
        #expect(changeCount >= 2)
    }

    /// Specs whose hours lie about what the clock shows after the change.
    private static func specs(at time: Int64, _ random: SeededRandom) -> [SlowSpec] {
        let hour = Int(time.dividedByDay.second / 3600)
        let hours = (-2...2).map { (hour + $0 + 24) % 24 }
        let minute = random.next(in: 0...59)
        let second = random.next(in: 0...59)
        let list = hours.map(String.init).joined(separator: ",")
        let picked = random.pick(hours) ?? hour
        return [
            daily("0 \(minute) \(picked)", [0], [minute], [picked], isShown: false),
            daily("\(second) \(minute),0 \(list)", [second], [minute, 0], hours, isShown: false),
            daily("\(second) */20 \(list)", [second], [0, 20, 40], hours, isShown: true),
            daily("0 \(minute) *", [0], [minute], Array(0..<24), isShown: true),
        ]
    }

    private static func daily(
        _ text: String, _ seconds: [Int], _ minutes: [Int], _ hours: [Int], isShown: Bool
    ) -> SlowSpec {
        SlowSpec(
            text: text + " * * *", seconds: (0..<60).map(seconds.contains), minutes: (0..<60).map(minutes.contains),
            hours: (0..<24).map(hours.contains), days: Array(repeating: true, count: 32),
            months: Array(repeating: true, count: 13), weekdays: Array(repeating: true, count: 7), isShown: isShown,
            isBoth: true)
    }
}
