import PenstockCore
import PenstockTestKit

@testable import PenstockSchedules

/// A spec as plain lists, and the slow way to its firings: it looks at every second, or at every minute, as cron does.
/// It shares with the fast way the offsets of a zone and the reckoning of dates, which have tests of their own.
struct SlowSpec {
    var text: String
    var seconds: [Bool]
    var minutes: [Bool]
    var hours: [Bool]
    var days: [Bool]
    var months: [Bool]
    var weekdays: [Bool]
    var isLastDayNamed = false
    /// Weekday and which of the month; 9 is the last one.
    var nth: [(weekday: Int, which: Int)] = []
    var isShown: Bool
    var isBoth: Bool

    /// Whether a day matches; told of it all that there is to know.
    func matches(day: Int, length: Int, weekday: Int) -> Bool {
        let byDay = days[day] || isLastDayNamed && day == length
        let byWeekday =
            weekdays[weekday]
            || nth.contains { nth in
                guard nth.weekday == weekday else { return false }
                return nth.which == 9 ? day + 7 > length : day > 7 * (nth.which - 1) && day <= 7 * nth.which
            }
        return isBoth ? byDay && byWeekday : byDay || byWeekday
    }

    /// Whether the local time matches.
    func matches(_ time: Int64) -> Bool {
        let second = Int(time.dividedByDay.second)
        guard seconds[second % 60], minutes[second / 60 % 60], hours[second / 3600] else { return false }
        let day = time.dividedByDay.day
        let date = CivilDay(daysSinceEpoch: day)
        let length = CivilDay.length(ofMonth: date.month, in: date.year)
        let weekday = CivilDay.weekday(daysSinceEpoch: day)
        return months[Int(date.month)] && matches(day: Int(date.day), length: length, weekday: weekday)
    }

    /// The moments after `start` and up to `end` at which it fires, by looking at each `step` seconds. `times` has what the
    /// clock shows at `start`, `start + step` and so on.
    func firings(after start: Int64, times: [Int64], step: Int64) -> [Int64] {
        var found: [Int64] = []
        var latest = times[0]
        for (index, time) in times.enumerated().dropFirst() {
            let now = start + Int64(index) * step
            if isShown {
                if matches(time) { found.append(now) }
            } else if time > latest {
                // All that the clock shows for the first time, and what it was put forward over.
                if stride(from: latest + step, through: time, by: Int64.Stride(step)).contains(where: matches) {
                    found.append(now)
                }
            }
            latest = max(latest, time)
        }
        return found
    }
}

extension SlowSpec {
    /// A spec by chance.
    static func random(_ random: SeededRandom, withSeconds: Bool) -> SlowSpec {
        var words: [String] = []
        let seconds =
            withSeconds ? field(random, 0...59, chanceOfStar: 0.3, &words) : [true] + Array(repeating: false, count: 59)
        let minutes = field(random, 0...59, chanceOfStar: 0.3, &words)
        let hours = field(random, 0...23, chanceOfStar: 0.4, &words)
        let isShown = words.contains { $0.hasPrefix("*") }
        let days = field(random, 1...31, chanceOfStar: 0.6, &words)
        let months = field(random, 1...12, chanceOfStar: 0.7, &words)
        let weekdays = field(random, 0...6, chanceOfStar: 0.6, &words)
        let at = words.count - 3
        var spec = SlowSpec(
            text: "", seconds: seconds, minutes: minutes, hours: hours, days: days, months: months, weekdays: weekdays,
            isShown: isShown, isBoth: words[at].hasPrefix("*") || words[at + 2].hasPrefix("*"))
        if !words[at].hasPrefix("*"), random.chance(0.2) {
            spec.isLastDayNamed = true
            words[at] += ",L"
        }
        if !words[at + 2].hasPrefix("*"), random.chance(0.4) {
            let nth = (weekday: random.next(in: 0...6), which: random.pick([1, 2, 3, 4, 5, 9]) ?? 1)
            spec.nth = [nth]
            spec.weekdays = Array(repeating: false, count: 7)
            words[at + 2] = nth.which == 9 ? "\(nth.weekday)L" : "\(nth.weekday)#\(nth.which)"
        }
        spec.text = words.joined(separator: " ")
        return spec
    }

    private static func field(
        _ random: SeededRandom, _ range: ClosedRange<Int>, chanceOfStar: Double, _ words: inout [String]
    ) -> [Bool] {
        var set = Array(repeating: false, count: range.upperBound + 1)
        if random.chance(chanceOfStar) {
            let step = random.chance(0.6) ? 1 : random.next(in: 2...range.upperBound)
            for value in stride(from: range.lowerBound, through: range.upperBound, by: step) { set[value] = true }
            words.append(step == 1 ? "*" : "*/\(step)")
            return set
        }
        var parts: [String] = []
        for _ in 0...random.next(in: 0...2) {
            let first = random.next(in: range)
            if random.chance(0.5) {
                set[first] = true
                parts.append("\(first)")
            } else {
                let last = random.next(in: first...range.upperBound)
                let step = random.next(in: 1...5)
                for value in stride(from: first, through: last, by: step) { set[value] = true }
                parts.append(step == 1 ? "\(first)-\(last)" : "\(first)-\(last)/\(step)")
            }
        }
        words.append(parts.joined(separator: ","))
        return set
    }
}
