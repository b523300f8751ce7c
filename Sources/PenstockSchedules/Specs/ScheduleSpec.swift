package import PenstockCore

/// When a schedule fires: five or six fields in the way of cron, or every so often.
package struct ScheduleSpec: Hashable, Sendable, CustomStringConvertible {
    /// What it says: as it was written, with one space between fields.
    package let text: String
    let kind: Kind

    enum Kind: Hashable, Sendable {
        case calendar(CalendarMatch, Course)
        /// Microseconds.
        case every(Int64)
    }

    /// How a spec goes by clocks that are put forward and back.
    enum Course: Hashable, Sendable {
        /// Its second, minute or hour begins with `*`: it fires whenever the clock shows such a time. So a time that is
        /// skipped gives nothing, and one that comes twice fires twice.
        case asShown
        /// It names times of the day: each fires once. One that is skipped fires when the clock has been put forward, and one
        /// that comes twice the first time.
        case onceEach
    }

    /// No spec is longer.
    package static let bytesMax = 200

    /// The last moment that there is for schedules: the end of the year 9999.
    private static let lastSecond = CivilDay(year: 10_000, month: 1, day: 1).daysSinceEpoch * 86_400 - 1
    private static let firstSecond = CivilDay(year: 1, month: 1, day: 1).daysSinceEpoch * 86_400

    /// Reads a spec.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` and a sentence that says what is wrong.
    package init(_ text: String) throws(PenstockError) {
        guard text.utf8.count <= ScheduleSpec.bytesMax else {
            throw PenstockError(.invalidInput, "A schedule's spec has at most \(ScheduleSpec.bytesMax) bytes.")
        }
        // What is not in ASCII could not be shown in an error without care, and no spec has it.
        guard text.utf8.allSatisfy({ $0 == UInt8(ascii: "\t") || (0x20..<0x7F).contains($0) }) else {
            throw PenstockError(
                .invalidInput, "A schedule's spec has letters, digits, spaces and * , - / # @ alone.")
        }
        let words = text.split { $0 == " " || $0 == "\t" }
        self.text = words.joined(separator: " ")
        kind = try SpecParser(text: self.text, words: words).kind()
    }

    package var description: String { text }

    /// The first moment after `moment` at which it fires in `zone`; `nil` when there is none before the year 10000.
    ///
    /// - Parameter anchor: a moment from which a spec such as `@every 90s` counts. The others do not look at it.
    package func next(after moment: Timestamp, in zone: Zone, anchor: Timestamp) -> Timestamp? {
        switch kind {
        case .every(let period):
            let next = ScheduleSpec.next(after: moment.microseconds, every: period, from: anchor.microseconds)
            guard let next, next / 1_000_000 <= ScheduleSpec.lastSecond else { return nil }
            return Timestamp(microseconds: next)
        case .calendar(let match, let course):
            let (second, rest) = moment.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
            let after = max(rest < 0 ? second - 1 : second, ScheduleSpec.firstSecond)
            guard after < ScheduleSpec.lastSecond else { return nil }
            let next =
                switch course {
                case .asShown: ScheduleSpec.nextShown(match, after: after, in: zone)
                case .onceEach: ScheduleSpec.nextOnce(match, after: after, in: zone)
                }
            guard let next, next <= ScheduleSpec.lastSecond else { return nil }
            return Timestamp(microseconds: next * 1_000_000)
        }
    }

    /// The first second after `after` at which the clock of `zone` shows a time that matches.
    private static func nextShown(_ match: CalendarMatch, after: Int64, in zone: Zone) -> Int64? {
        var second = after + 1
        let end = min(lastSecond + 1, after + CalendarMatch.searchSeconds)
        while second < end {
            let span = zone.span(at: second)
            let time = match.first(from: second + span.offset, before: min(span.end, end) + span.offset)
            if let time { return time - span.offset }
            second = span.end
        }
        return nil
    }

    /// The first second after `after` at which the clock of `zone` shows a time that matches, or more, for the first time.
    private static func nextOnce(_ match: CalendarMatch, after: Int64, in zone: Zone) -> Int64? {
        // Times up to the latest one shown have had their turn. A later one comes after it by that alone.
        let shown = zone.latestShown(until: after)
        return match.first(from: shown + 1, before: shown + CalendarMatch.searchSeconds)
            .map(zone.firstSecond(showing:))
    }

    private static func next(after moment: Int64, every period: Int64, from anchor: Int64) -> Int64? {
        if moment < anchor { return anchor }
        let (elapsed, overflowed) = moment.subtractingReportingOverflow(anchor)
        if overflowed { return nil }
        let (next, overflowedToo) = moment.addingReportingOverflow(period - elapsed % period)
        return overflowedToo ? nil : next
    }
}
