package import PenstockCore

/// Durations as people type and read them: `250ms`, `10s`, `1h30m`.
package enum DurationText {
    package static let forms = "write whole numbers with units, the largest first, such as 250ms, 10s, 5m, 1h30m or 7d"

    private static let units: [(name: String, microseconds: Int64)] = [
        ("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000), ("us", 1),
    ]

    /// The duration that `text` names.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` that names the accepted forms.
    package static func parse(_ text: String) throws(PenstockError) -> Duration {
        if text == "0" { return .zero }
        var rest = Substring(text)
        var total: Int64 = 0
        var unitsLeft = units[...]
        repeat {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(name.count)
            guard !digits.isEmpty, let index = unitsLeft.firstIndex(where: { $0.name == name }) else {
                throw PenstockError(.invalidInput, "'\(Escape.excerpt(text))' is no duration; \(forms).")
            }
            // What does not fit into 64 bits has more digits than any duration that a command takes.
            guard let number = Int64(digits) else { throw tooLong(text) }
            let (product, overflowed) = number.multipliedReportingOverflow(by: units[index].microseconds)
            let (sum, overflowedToo) = total.addingReportingOverflow(product)
            guard !overflowed, !overflowedToo else { throw tooLong(text) }
            total = sum
            unitsLeft = unitsLeft[(index + 1)...]
        } while !rest.isEmpty
        return .microseconds(total)
    }

    /// `duration` in whole microseconds, in the form that ``parse(_:)`` reads; `-` in front of a negative one.
    package static func format(_ duration: Duration) -> String {
        let microseconds = duration.wholeMicroseconds
        guard microseconds != 0 else { return "0s" }
        var left = microseconds.magnitude
        var text = microseconds < 0 ? "-" : ""
        for unit in units {
            let count = left / unit.microseconds.magnitude
            left %= unit.microseconds.magnitude
            if count > 0 { text += "\(count)\(unit.name)" }
        }
        return text
    }

    /// `duration` for a column: no more than its two largest units.
    package static func short(_ duration: Duration) -> String {
        let microseconds = duration.wholeMicroseconds.magnitude
        guard let index = units.firstIndex(where: { $0.microseconds.magnitude <= microseconds }) else { return "0s" }
        let smallest = units[min(index + 1, units.count - 1)].microseconds
        let whole = Int64(clamping: microseconds) / smallest * smallest
        return format(.microseconds(duration < .zero ? -whole : whole))
    }

    private static func tooLong(_ text: String) -> PenstockError {
        PenstockError(
            .invalidInput, "The duration '\(Escape.excerpt(text))' is too long; the longest is about 292,000 years.")
    }
}
