import PenstockCore

/// Reads the two fields for days, which can say more than sets: the last day, the second Friday.
struct DayParser {
    let parser: SpecParser

    func days(_ dayWord: Substring, _ weekdayWord: Substring) throws(PenstockError) -> DayMatch {
        var days = DayMatch()
        days.beginsWithStarOfDays = dayWord.hasPrefix("*")
        days.beginsWithStarOfWeekdays = weekdayWord.hasPrefix("*")
        for part in dayWord.split(separator: ",", omittingEmptySubsequences: false) {
            if part.uppercased() == "L" {
                days.hasLastDay = true
            } else {
                try refuseOthers(part)
                days.days |= UInt32(truncatingIfNeeded: try parser.values(part, .day))
            }
        }
        for part in weekdayWord.split(separator: ",", omittingEmptySubsequences: false) {
            if part.contains("#") {
                days.nthWeekdays |= try nth(part)
            } else if part.count > 1, part.uppercased().hasSuffix("L") {
                let weekday = SpecField.weekday.value(try parser.number(part.dropLast(), .weekday))
                days.lastWeekdays |= 1 << UInt8(weekday)
            } else {
                days.weekdays |= UInt8(truncatingIfNeeded: try parser.values(part, .weekday))
            }
        }
        return days
    }

    /// `5#2`, the second Friday.
    private func nth(_ part: Substring) throws(PenstockError) -> UInt64 {
        let halves = part.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let weekday = SpecField.weekday.value(try parser.number(halves[0], .weekday))
        guard let which = Int(digits: halves[1]), (1...5).contains(which) else {
            throw parser.refusal(
                "'\(part)' is no day of the week; behind # stands a number from 1 to 5, such as FRI#2.")
        }
        return 1 << UInt64(7 * which + weekday)
    }

    /// Refuses days of the month that others know.
    private func refuseOthers(_ part: Substring) throws(PenstockError) {
        if part.uppercased().hasSuffix("W") {
            throw parser.refusal("'\(part)' is no day of the month: the nearest working day cannot be named.")
        }
        if part.uppercased().hasPrefix("L") {
            throw parser.refusal("'\(part)' is no day of the month: of days counted from its end, L is the last one.")
        }
    }
}
