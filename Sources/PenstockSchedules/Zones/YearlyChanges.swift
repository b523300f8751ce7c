/// The rule at the end of a zone's file, by which its clocks are set in all the years after the last change that the file
/// names: the form of POSIX's `TZ` variable, as RFC 9636 extends it.
struct YearlyChanges: Hashable, Sendable {
    /// A day of a year and a time of it.
    struct Moment: Hashable, Sendable {
        enum Day: Hashable, Sendable {
            /// 1 to 365; 29 February is not counted.
            case julian(Int64)
            /// 0 to 365; 29 February is counted.
            case ofYear(Int64)
            /// A weekday of a month, such as its second Sunday; the fifth is the last.
            case weekday(month: Int64, week: Int64, weekday: Int64)
        }

        var day: Day
        /// Seconds since that day's midnight; may be negative, or beyond the day.
        var time: Int64

        /// The second since 1970, on the clock that the place has until then.
        func second(in year: Int64) -> Int64 {
            let first = CivilDay(year: year, month: 1, day: 1).daysSinceEpoch
            switch day {
            case .julian(let number):
                let skipsLeapDay = CivilDay.isLeap(year) && number >= 60
                return (first + number - 1 + (skipsLeapDay ? 1 : 0)) * 86_400 + time
            case .ofYear(let number):
                return (first + number) * 86_400 + time
            case .weekday(let month, let week, let weekday):
                let begin = CivilDay(year: year, month: month, day: 1).daysSinceEpoch
                var day = (weekday - Int64(CivilDay.weekday(daysSinceEpoch: begin)) + 7) % 7 + (week - 1) * 7
                if day >= Int64(CivilDay.length(ofMonth: month, in: year)) { day -= 7 }
                return (begin + day) * 86_400 + time
            }
        }
    }

    /// Seconds to add to UTC outside of summer time.
    var standard: Int64
    /// Summer time, where there is one.
    var summer: Summer?

    struct Summer: Hashable, Sendable {
        var offset: Int64
        var begin: Moment
        var end: Moment
    }

    /// The stretch that `second` is in, which is not before `last`, the last change that the file names.
    func span(at second: Int64, after last: Zone.Change) -> Zone.Span {
        let isNamed = last.second > Zone.distantPast
        var span = Zone.Span(start: last.second, end: Zone.distantFuture, offset: isNamed ? last.offset : standard)
        guard let summer else { return span }
        let year = CivilDay(daysSinceEpoch: second.dividedByDay.day).year
        // A rule may reach a week into the years beside its own.
        for change in changes(in: year - 2...year + 2, by: summer) where change.second > last.second {
            if change.second <= second {
                span.start = change.second
                span.offset = change.offset
            } else {
                span.end = change.second
                break
            }
        }
        return span
    }

    /// In their order. Where summer time lasts all year, its next begin comes with its end, and holds.
    private func changes(in years: ClosedRange<Int64>, by summer: Summer) -> [Zone.Change] {
        var ends: [Zone.Change] = []
        var begins: [Zone.Change] = []
        for year in years {
            ends.append(Zone.Change(second: summer.end.second(in: year) - summer.offset, offset: standard))
            begins.append(Zone.Change(second: summer.begin.second(in: year) - standard, offset: summer.offset))
        }
        // A stable order: of two at one second the begin comes later.
        return (ends + begins).enumerated()
            .sorted { ($0.element.second, $0.offset) < ($1.element.second, $1.offset) }
            .map(\.element)
    }
}
