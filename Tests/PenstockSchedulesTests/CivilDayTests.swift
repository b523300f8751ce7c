import PenstockSchedules
import Testing

@Suite struct CivilDayTests {
    /// A calendar that counts days one by one agrees over more than three whole eras.
    @Test func agreesWithCounting() {
        var expected = CivilDay(year: -400, month: 1, day: 1)
        let lengths: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var days = expected.daysSinceEpoch
        while expected.year < 900 {
            #expect(CivilDay(daysSinceEpoch: days) == expected)
            #expect(expected.daysSinceEpoch == days)
            let isLeap = expected.year % 4 == 0 && (expected.year % 100 != 0 || expected.year % 400 == 0)
            let length = lengths[Int(expected.month) - 1] + (expected.month == 2 && isLeap ? 1 : 0)
            days += 1
            expected.day += 1
            if expected.day > length { (expected.day, expected.month) = (1, expected.month + 1) }
            if expected.month > 12 { (expected.month, expected.year) = (1, expected.year + 1) }
        }
        #expect(days == CivilDay(year: 900, month: 1, day: 1).daysSinceEpoch)
    }

    @Test func knowsTheEpoch() {
        #expect(CivilDay(daysSinceEpoch: 0) == CivilDay(year: 1970, month: 1, day: 1))
        #expect(CivilDay(year: 2000, month: 3, day: 1).daysSinceEpoch == 11_017)
    }

    @Test("Days of the week", arguments: [(-25_567, 1), (0, 4), (-1, 3), (-4, 0), (-5, 6), (20_000, 5)])
    func weekdays(_ day: Int64, _ weekday: Int) {
        #expect(CivilDay.weekday(daysSinceEpoch: day) == weekday)
    }
}
