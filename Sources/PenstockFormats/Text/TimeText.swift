package import PenstockCore
import PenstockSchedules

/// Moments as people and programs type and read them: ISO 8601, or relative to now.
///
/// A time without a zone is UTC: the file may be read on a machine in another zone than the one that wrote it.
package enum TimeText {
    package static let forms =
        "write ISO 8601, such as 2030-01-31T08:30:00Z, 2030-01-31T08:30:00.250+02:00 or 2030-01-31 (UTC unless it has "
        + "a zone), or a time from now, such as +10m or -2h"

    /// The moment that `text` names, with `now` as the present.
    ///
    /// Digits beyond the microsecond are cut off.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` that names the accepted forms.
    package static func parse(_ text: String, now: Timestamp) throws(PenstockError) -> Timestamp {
        switch text.first {
        case "+": return now + (try DurationText.parse(String(text.dropFirst())))
        case "-": return now - (try DurationText.parse(String(text.dropFirst())))
        default:
            var scan = Scan(text)
            guard let moment = scan.moment() else {
                throw PenstockError(.invalidInput, "'\(Escape.excerpt(text))' is no time; \(forms).")
            }
            return moment
        }
    }

    /// `moment` as ISO 8601 in UTC with microseconds: `2030-01-31T08:30:00.250000Z`.
    package static func format(_ moment: Timestamp) -> String {
        let (day, ofDay) = moment.microseconds.quotientAndRemainder(floored: 86_400_000_000)
        let date = CivilDay(daysSinceEpoch: day)
        let (seconds, micros) = ofDay.quotientAndRemainder(dividingBy: 1_000_000)
        // Years of more than four digits carry a sign, as ISO 8601 has it.
        let sign = date.year < 0 ? "-" : date.year > 9999 ? "+" : ""
        let year = sign + padded(Int64(date.year.magnitude), 4)
        let clock = "\(padded(seconds / 3600, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2))"
        return "\(year)-\(padded(date.month, 2))-\(padded(date.day, 2))T\(clock).\(padded(micros, 6))Z"
    }

    /// `moment` for a column: as ``format(_:)``, without the parts of a second.
    package static func short(_ moment: Timestamp) -> String {
        format(moment).prefix { $0 != "." } + "Z"
    }

    /// `moment` as the header `Date` of HTTP has it (RFC 9110, 5.6.7): `Thu, 31 Jan 2030 08:30:00 GMT`.
    package static func http(_ moment: Timestamp) -> String {
        let (day, ofDay) = moment.microseconds.quotientAndRemainder(floored: 86_400_000_000)
        let date = CivilDay(daysSinceEpoch: day)
        let weekday = weekdays[CivilDay.weekday(daysSinceEpoch: day)]
        let seconds = ofDay / 1_000_000
        let clock = "\(padded(seconds / 3600, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2))"
        return "\(weekday), \(padded(date.day, 2)) \(months[Int(date.month) - 1]) \(padded(date.year, 4)) \(clock) GMT"
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

/// Reads one absolute time from left to right.
private struct Scan {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    mutating func moment() -> Timestamp? {
        guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2) else { return nil }
        let date = CivilDay(year: year, month: month, day: day)
        guard date.exists else { return nil }
        var microseconds = date.daysSinceEpoch * 86_400_000_000
        if !rest.isEmpty {
            guard take("T") || take("t") || take(" "), let clock = clock(), let zone = zone() else { return nil }
            microseconds += clock - zone
        }
        return rest.isEmpty ? Timestamp(microseconds: microseconds) : nil
    }

    /// Microseconds since midnight: `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fraction`.
    private mutating func clock() -> Int64? {
        guard let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60 else { return nil }
        var microseconds = (hour * 60 + minute) * 60_000_000
        if take(":") {
            // A leap second is taken as the first of the next minute, which is what Unix time makes of it.
            guard let second = number(2), second <= 60 else { return nil }
            microseconds += second * 1_000_000
            if take(".") || take(",") {
                let digits = rest.prefix(while: Self.isDigit)
                rest = rest.dropFirst(digits.count)
                guard (1...9).contains(digits.count) else { return nil }
                var unit: Int64 = 100_000
                for digit in digits {
                    microseconds += Int64(digit - UInt8(ascii: "0")) * unit
                    unit /= 10
                }
            }
        }
        return microseconds
    }

    /// Microseconds east of Greenwich: nothing or `Z` for none, `+HH:MM`, `+HHMM` or `+HH`.
    private mutating func zone() -> Int64? {
        if rest.isEmpty || take("Z") || take("z") { return 0 }
        let sign: Int64
        if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
        guard let hours = number(2), hours < 24 else { return nil }
        var minutes: Int64 = 0
        if !rest.isEmpty {
            _ = take(":")
            guard let number = number(2), number < 60 else { return nil }
            minutes = number
        }
        return sign * (hours * 60 + minutes) * 60_000_000
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func number(_ width: Int) -> Int64? {
        let digits = rest.prefix(width)
        guard digits.count == width, digits.allSatisfy(Self.isDigit) else { return nil }
        rest = rest.dropFirst(width)
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

extension Int64 {
    /// The quotient rounded down, and what is left, which is never negative. `divisor` must be positive.
    fileprivate func quotientAndRemainder(floored divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
