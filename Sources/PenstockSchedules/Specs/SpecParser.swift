import PenstockCore

/// Reads a spec of words, and says what is wrong with one.
struct SpecParser {
    let text: String
    let words: [Substring]

    /// What each short word stands for.
    private static let shorthands = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
    ]

    func kind() throws(PenstockError) -> ScheduleSpec.Kind {
        guard let first = words.first else {
            throw refusal("A schedule's spec cannot be empty; write five fields such as '0 3 * * *', or @daily.")
        }
        if first.hasPrefix("@") { return try shorthand(first.lowercased()) }
        if first.contains("=") {
            throw refusal("A spec has no zone in it; take \(first) away, and give the zone beside the spec.")
        }
        return try calendar(words)
    }

    private func shorthand(_ word: String) throws(PenstockError) -> ScheduleSpec.Kind {
        if word == "@every" { return .every(try period()) }
        if word == "@reboot" {
            throw refusal("@reboot is no time; enqueue a message when the machine starts instead.")
        }
        guard let fields = SpecParser.shorthands[word], words.count == 1 else {
            throw refusal(
                "'\(text)' is no spec; there are @hourly, @daily, @weekly, @monthly, @yearly and @every with a duration, "
                    + "such as @every 90s.")
        }
        return try calendar(fields.split(separator: " "))
    }

    private func calendar(_ words: [Substring]) throws(PenstockError) -> ScheduleSpec.Kind {
        guard words.count == 5 || words.count == 6 else {
            throw refusal(
                "'\(text)' has \(words.count) field\(words.count == 1 ? "" : "s"); a spec has five (minute, hour, day of the "
                    + "month, month, day of the week), or six with the second in front.")
        }
        var match = CalendarMatch()
        let fields = words.suffix(5)
        let at = fields.startIndex
        if words.count == 6 { match.seconds = try set(words[0], .second) }
        match.minutes = try set(fields[at], .minute)
        match.hours = try set(fields[at + 1], .hour)
        match.days = try DayParser(parser: self).days(fields[at + 2], fields[at + 4])
        match.months = try set(fields[at + 3], .month)
        if match.isImpossible {
            throw refusal("'\(text)' would never fire: none of its months has such a day.")
        }
        let isShown = words.dropLast(3).contains { $0.hasPrefix("*") }
        return .calendar(match, isShown ? .asShown : .onceEach)
    }

    /// The values of a field, by bit.
    func set(_ word: Substring, _ field: SpecField) throws(PenstockError) -> UInt64 {
        var set: UInt64 = 0
        for part in word.split(separator: ",", omittingEmptySubsequences: false) {
            set |= try values(part, field)
        }
        return set
    }

    /// The values of one entry of a field's list: `*`, `5`, `1-5`, each perhaps with a step such as `/2`.
    func values(_ part: Substring, _ field: SpecField) throws(PenstockError) -> UInt64 {
        let halves = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let step = halves.count == 2 ? try step(halves[1], field) : 1
        var (first, last) = (field.range.lowerBound, field.range.upperBound)
        if halves[0] != "*" {
            let ends = halves[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            first = try number(ends[0], field)
            if ends.count == 2 {
                last = try number(ends[1], field)
            } else if halves.count == 1 || first > last {
                last = first
            }
            // 22-2 goes over midnight.
            if last < first { last += field.range.count }
        }
        var set: UInt64 = 0
        for number in stride(from: first, through: last, by: step) {
            set |= 1 << UInt64(field.value(number))
        }
        return set
    }

    func number(_ word: Substring, _ field: SpecField) throws(PenstockError) -> Int {
        if let number = field.number(word) { return number }
        if word.isEmpty { throw refusal("A number is missing in the field for the \(field.name) of '\(text)'.") }
        throw refusal("'\(word)' is no \(field.name); write \(field.allowed).")
    }

    private func step(_ word: Substring, _ field: SpecField) throws(PenstockError) -> Int {
        let greatest = field.range.upperBound
        guard let step = Int(digits: word), (1...greatest).contains(step) else {
            throw refusal(
                "'/\(word)' is no step for the \(field.name); write a number from 1 to \(greatest), or for other periods "
                    + "a spec such as @every 90m.")
        }
        return step
    }

    /// Microseconds, of the duration behind `@every`.
    private func period() throws(PenstockError) -> Int64 {
        let units: [Character: Int64] = ["d": 86_400, "h": 3600, "m": 60, "s": 1]
        var rest = words.count == 2 ? words[1] : ""
        var seconds: Int64 = 0
        var unitMax = Int64.max
        repeat {
            let digits = rest.prefix { $0.isNumber }
            rest = rest.dropFirst(digits.count)
            guard let number = Int(digits: digits), let unit = rest.popFirst().flatMap({ units[$0] }), unit < unitMax
            else {
                throw refusal(
                    "'\(text)' needs a duration of whole seconds after @every, the largest unit first, such as 90s, 5m, "
                        + "1h30m or 7d.")
            }
            seconds += Int64(number) * unit
            unitMax = unit
        } while !rest.isEmpty
        guard seconds >= 1, .seconds(seconds) <= Limits.delayMax else {
            throw refusal(
                "The duration of '\(text)' must be from 1s to \(Limits.delayMax.components.seconds / 86_400)d.")
        }
        return seconds * 1_000_000
    }

    func refusal(_ sentence: String) -> PenstockError {
        PenstockError(.invalidInput, sentence)
    }
}
