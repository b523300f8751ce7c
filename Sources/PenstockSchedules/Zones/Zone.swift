/// How the clocks of a place are set: its offset from UTC at every moment, as the IANA time zone database has it.
package struct Zone: Sendable {
    /// A stretch of time within which a place's clocks have one offset.
    struct Span {
        /// Its first second.
        var start: Int64
        /// The first second after it.
        var end: Int64
        /// Seconds to add to UTC.
        var offset: Int64
    }

    /// A moment at which the clocks are set.
    struct Change: Hashable {
        var second: Int64
        /// The offset from then on.
        var offset: Int64
    }

    package let name: ZoneName
    /// A number made of the data: another one says that the data has changed. UTC has 0.
    package let fingerprint: Int64
    let changes: [Change]
    let firstOffset: Int64
    /// What holds after the last change, in years to come.
    let years: YearlyChanges?

    /// The offset of all times from which the clocks are never set.
    static let distantPast = -(Int64(1) << 58)
    static let distantFuture = Int64(1) << 58
    /// No place is further from UTC than this: RFC 9636 has -25 to +26 hours.
    static let offsetMax: Int64 = 26 * 3600

    /// The zone whose clocks are never set, which needs no file.
    package static let utc = Zone(name: .utc, fingerprint: 0, changes: [], firstOffset: 0, years: nil)

    /// The stretch that `second`, of Unix time, is in.
    func span(at second: Int64) -> Span {
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].second <= second { low = middle + 1 } else { high = middle }
        }
        let last = low == 0 ? Change(second: Zone.distantPast, offset: firstOffset) : changes[low - 1]
        if low < changes.count { return Span(start: last.second, end: changes[low].second, offset: last.offset) }
        guard let years else { return Span(start: last.second, end: Zone.distantFuture, offset: last.offset) }
        return years.span(at: second, after: last)
    }

    /// The latest time that the place's clocks have shown up to `second`. It is later than what they show then where they
    /// were put back not long ago.
    func latestShown(until second: Int64) -> Int64 {
        var span = span(at: second)
        var latest = second + span.offset
        while span.start > second - 2 * Zone.offsetMax {
            let end = span.start
            span = self.span(at: end - 1)
            latest = max(latest, end - 1 + span.offset)
        }
        return latest
    }

    /// The first second at which the place's clocks show `time` or, where they are put forward over it, more.
    func firstSecond(showing time: Int64) -> Int64 {
        var span = span(at: time - Zone.offsetMax)
        while span.end < Zone.distantFuture, span.end - 1 + span.offset < time {
            span = self.span(at: span.end)
        }
        return max(span.start, time - span.offset)
    }
}
