extension YearlyChanges {
    /// Reads a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`; `nil` when it is none.
    init?(_ text: ArraySlice<UInt8>) {
        var scan = RuleScan(rest: text)
        guard scan.skipName(), let west = scan.offset(hoursMax: 24) else { return nil }
        standard = -west
        summer = nil
        if scan.rest.isEmpty { return }
        guard scan.skipName() else { return nil }
        var offset = standard + 3600
        if scan.rest.first != UInt8(ascii: ",") {
            guard let west = scan.offset(hoursMax: 24) else { return nil }
            offset = -west
        }
        guard let begin = scan.moment(), let end = scan.moment(), scan.rest.isEmpty else { return nil }
        summer = Summer(offset: offset, begin: begin, end: end)
    }
}

/// Reads a rule from left to right.
private struct RuleScan {
    var rest: ArraySlice<UInt8>

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// A name of three letters or more, or anything of letters, digits and signs between `<` and `>`.
    mutating func skipName() -> Bool {
        if take("<") {
            let name = rest.prefix { $0 != UInt8(ascii: ">") }
            rest = rest.dropFirst(name.count)
            return name.count >= 3 && take(">")
        }
        let name = rest.prefix { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
        rest = rest.dropFirst(name.count)
        return name.count >= 3
    }

    mutating func number(_ range: ClosedRange<Int64>) -> Int64? {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard (1...3).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        return range.contains(number) ? number : nil
    }

    /// Seconds, of `hh`, `hh:mm` or `hh:mm:ss` behind a sign that may be missing.
    mutating func offset(hoursMax: Int64) -> Int64? {
        let sign: Int64 = take("-") ? -1 : 1
        if sign > 0 { _ = take("+") }
        guard let hours = number(0...hoursMax) else { return nil }
        var seconds = hours * 3600
        if take(":") {
            guard let minutes = number(0...59) else { return nil }
            seconds += minutes * 60
            if take(":") {
                guard let rest = number(0...59) else { return nil }
                seconds += rest
            }
        }
        return sign * seconds
    }

    mutating func moment() -> YearlyChanges.Moment? {
        guard take(","), let day = day() else { return nil }
        guard take("/") else { return YearlyChanges.Moment(day: day, time: 7200) }
        guard let time = offset(hoursMax: 167) else { return nil }
        return YearlyChanges.Moment(day: day, time: time)
    }

    private mutating func day() -> YearlyChanges.Moment.Day? {
        if take("J") { return number(1...365).map { .julian($0) } }
        guard take("M") else { return number(0...365).map { .ofYear($0) } }
        guard let month = number(1...12), take("."), let week = number(1...5), take("."), let weekday = number(0...6)
        else { return nil }
        return .weekday(month: month, week: week, weekday: weekday)
    }
}
