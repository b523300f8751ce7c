/// A day of the Gregorian calendar, reckoned in both directions without end.
///
/// The arithmetic is Howard Hinnant's `days_from_civil` and `civil_from_days`, from "chrono-Compatible Low-Level Date
/// Algorithms" (2013): years begin in March, so that the leap day is a year's last, and 400 of them are one era.
package struct CivilDay: Hashable, Sendable {
    package var year: Int64
    /// `1...12`
    package var month: Int64
    /// `1...31`
    package var day: Int64

    package init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that lies `days` after 1970-01-01.
    package init(daysSinceEpoch days: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// How many days after 1970-01-01 this day is; negative before.
    package var daysSinceEpoch: Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Whether the calendar has this day.
    package var exists: Bool {
        guard (1...12).contains(month), day >= 1 else { return false }
        return CivilDay(daysSinceEpoch: daysSinceEpoch) == self
    }

    /// The day of the week of the day that lies `days` after 1970-01-01, which was a Thursday: 0 is Sunday, 6 Saturday.
    package static func weekday(daysSinceEpoch days: Int64) -> Int {
        let remainder = Int((days + 4) % 7)
        return remainder < 0 ? remainder + 7 : remainder
    }

    /// How many days the month has.
    package static func length(ofMonth month: Int64, in year: Int64) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Whether the year has a 29 February.
    package static func isLeap(_ year: Int64) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }
}
