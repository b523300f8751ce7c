/// Which days of a month a spec names, by its two fields for days.
struct DayMatch: Hashable, Sendable {
    /// The days of the month, by bit: bit 1 is the first.
    var days: UInt32 = 0
    /// Whether the last day of the month is named, by `L`.
    var hasLastDay = false
    /// Whether the field begins with `*`.
    var beginsWithStarOfDays = false
    /// The days of the week, by bit: bit 0 is Sunday.
    var weekdays: UInt8 = 0
    /// Days of the week of which the field names only one in a month, such as `5#2`: bit `7 * which + weekday`.
    var nthWeekdays: UInt64 = 0
    /// Days of the week of which the field names the last one in a month, such as `5L`.
    var lastWeekdays: UInt8 = 0
    /// Whether that field begins with `*`.
    var beginsWithStarOfWeekdays = false

    /// The days that match in a month of `length` days whose first is the weekday `first`, by bit.
    ///
    /// A day must be in both fields if one of them begins with `*`, and else in one of them. So have it Paul Vixie's cron
    /// and the Open Cron Pattern Specification 1.4.
    func days(length: Int, first: Int) -> UInt32 {
        let all = (UInt32(1) << UInt32(length) - 1) << 1
        var byDay = days & all
        if hasLastDay { byDay |= 1 << UInt32(length) }
        var byWeekday: UInt32 = 0
        for day in 1...length where matches(weekday: (first + day - 1) % 7, day: day, length: length) {
            byWeekday |= 1 << UInt32(day)
        }
        return beginsWithStarOfDays || beginsWithStarOfWeekdays ? byDay & byWeekday : byDay | byWeekday
    }

    private func matches(weekday: Int, day: Int, length: Int) -> Bool {
        weekdays >> UInt8(weekday) & 1 == 1
            || nthWeekdays >> UInt64(7 * ((day - 1) / 7 + 1) + weekday) & 1 == 1
            || day + 7 > length && lastWeekdays >> UInt8(weekday) & 1 == 1
    }
}
