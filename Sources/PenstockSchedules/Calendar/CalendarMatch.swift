/// Which times of a calendar a spec names: sets of seconds, minutes, hours, days and months.
///
/// Times are local here: seconds since 1970-01-01T00:00:00 of a clock that nobody ever sets. ``ScheduleSpec`` knows of zones.
struct CalendarMatch: Hashable, Sendable {
    /// By bit, as the minutes and the hours.
    var seconds: UInt64 = 1
    var minutes: UInt64 = 0
    var hours: UInt64 = 0
    var days = DayMatch()
    /// By bit: bit 1 is January.
    var months: UInt64 = 0

    /// How far a search goes: the calendar repeats itself after 400 years, so what is not found by then there is not.
    static let searchSeconds: Int64 = 146_097 * 86_400

    /// Whether no month of any year has such a day.
    var isImpossible: Bool {
        for month in 1...12 where months >> UInt64(month) & 1 == 1 {
            for year: Int64 in [2000, 2001] {
                let length = CivilDay.length(ofMonth: Int64(month), in: year)
                // Within 400 years each month begins with each day of the week, that of leap years as well.
                for first in 0..<7 where days.days(length: length, first: first) != 0 { return false }
            }
        }
        return true
    }

    /// The first matching time that is not before `start`, but before `end`; `nil` when there is none.
    ///
    /// It jumps from month to month and from day to day, so a time that comes once in 40 years is found at once.
    func first(from start: Int64, before end: Int64) -> Int64? {
        var (day, second) = start.dividedByDay
        var date = CivilDay(daysSinceEpoch: day)
        while day * 86_400 < end {
            if months >> UInt64(date.month) & 1 == 1, let found = first(inMonthOf: date, at: day, from: second) {
                return found < end ? found : nil
            }
            date =
                date.month == 12
                ? CivilDay(year: date.year + 1, month: 1, day: 1)
                : CivilDay(year: date.year, month: date.month + 1, day: 1)
            day = date.daysSinceEpoch
            second = 0
        }
        return nil
    }

    private func first(inMonthOf date: CivilDay, at day: Int64, from second: Int64) -> Int64? {
        let length = CivilDay.length(ofMonth: date.month, in: date.year)
        let first = CivilDay.weekday(daysSinceEpoch: day - (date.day - 1))
        var left = days.days(length: length, first: first) & (UInt32.max << UInt32(date.day))
        if left >> UInt32(date.day) & 1 == 1 {
            if let found = firstSecond(ofDayFrom: Int(second)) { return day * 86_400 + Int64(found) }
            left &= left - 1
        }
        guard left != 0, let found = firstSecond(ofDayFrom: 0) else { return nil }
        return (day + Int64(left.trailingZeroBitCount) - date.day) * 86_400 + Int64(found)
    }

    private func firstSecond(ofDayFrom start: Int) -> Int? {
        let (hour, minute, second) = (start / 3600, start / 60 % 60, start % 60)
        if hours.has(hour) {
            if minutes.has(minute), let second = seconds.next(from: second) {
                return hour * 3600 + minute * 60 + second
            }
            if let minute = minutes.next(from: minute + 1) {
                return hour * 3600 + minute * 60 + seconds.trailingZeroBitCount
            }
        }
        guard let hour = hours.next(from: hour + 1) else { return nil }
        return hour * 3600 + minutes.trailingZeroBitCount * 60 + seconds.trailingZeroBitCount
    }
}

extension UInt64 {
    fileprivate func has(_ bit: Int) -> Bool { self >> UInt64(bit) & 1 == 1 }

    /// The lowest bit that is set and not below `bit`.
    fileprivate func next(from bit: Int) -> Int? {
        let left = self >> UInt64(bit)
        return left == 0 ? nil : bit + left.trailingZeroBitCount
    }
}

extension Int64 {
    /// The day since 1970-01-01 of a time in seconds, and the second of that day.
    package var dividedByDay: (day: Int64, second: Int64) {
        let (day, second) = quotientAndRemainder(dividingBy: 86_400)
        return second < 0 ? (day - 1, second + 86_400) : (day, second)
    }
}
