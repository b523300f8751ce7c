/// How many messages may start in so much time.
///
/// A start is a claim: a message that is tried again, or comes back from a worker that died, starts again and counts again. In
/// any window as long as the period there are at most `count + burst - 1` starts, whichever processes claim, and whatever is
/// done to the wall clock meanwhile, but for one thing: where it is set back between a claim and the moment at which the message is given
/// back unbegun, one start more is possible.
///
/// It is the generic cell rate algorithm (ITU-T I.371, the virtual scheduling algorithm): one number says when the next start
/// would come if all came evenly, and a start conforms when it is not too early by more than a tolerance. What is particular
/// here is a small allowance for starts that come late, since a worker wakes a little after the moment it waits for: without
/// one, each start would put off all that follow. The allowance is part of the period, so the bound is exact, and the
/// mean reaches `count` in the period and the allowance together: at least 96 % of the rate.
public struct Rate: Hashable, Sendable, Codable {
    /// How many messages may start in a period.
    public var count: Int
    /// The period.
    public var period: Duration
    /// How many may start at once when none has started for a while. At rates of more than 50 a second more may: as many as the
    /// rate lets start in the allowance of 20 milliseconds. Never more than `count + burst - 1` in the period.
    public var burst: Int

    /// Makes a rate of `count` starts in each `period`.
    public init(_ count: Int, per period: Duration, burst: Int = 1) {
        self.count = count
        self.period = period
        self.burst = burst
    }

    /// Throws ``PenstockError`` with code `invalidInput` when a number is out of its range.
    public func validate() throws(PenstockError) {
        try require(
            Limits.rateCountRange.contains(count) && Limits.rateCountRange.contains(burst),
            "A rate has a count and a burst of \(Limits.rateCountRange.lowerBound) to \(Limits.rateCountRange.upperBound)."
        )
        try require(
            Limits.ratePeriodRange.contains(period),
            "The period of a rate is 1 millisecond to 30 days (ratePeriodRange).")
        try require(
            period.wholeMicroseconds >= Int64(count), "A rate is at most one message in a microsecond.")
    }
}

/// What the rate algorithm reckons with: whole microseconds of a boot clock.
///
/// `tat`, the theoretical arrival time, is the one number that is kept between starts: when the next one would come if all came
/// evenly.
package struct RateMeter: Sendable {
    /// How far starts that come evenly are apart.
    package let interval: Int64
    /// By how much a start may come before its time.
    package let tolerance: Int64

    /// The meter of a rate; of none at all, where starts are only put off.
    package init(_ rate: Rate?) {
        guard let rate else {
            (interval, tolerance) = (0, 0)
            return
        }
        let period = rate.period.wholeMicroseconds
        let allowance = min(period * 4 / 100, Self.lateMax)
        // Rounded up, so that the bound holds.
        interval = (period + allowance + Int64(rate.count) - 1) / Int64(rate.count)
        tolerance = allowance + Int64(rate.burst - 1) * interval
    }

    /// The most that starts are allowed to be late without loss, in microseconds.
    private static let lateMax: Int64 = 20_000

    /// What is to be reckoned with of a kept number: none is further ahead than a rate that was just used up. One that is has been
    /// left by another rate, or by hand.
    package func kept(_ tat: Int64, at now: Int64) -> Int64 {
        min(tat, now + interval + tolerance)
    }

    /// How many may start at once at `now`, by a kept number as it is reckoned with then.
    package func startCount(_ tat: Int64, at now: Int64) -> Int64 {
        if interval == 0 { return opens(tat) <= now ? .max : 0 }
        let first = max(tat, now) - tolerance
        return first <= now ? (now - first) / interval + 1 : 0
    }

    /// When the next one may start, by a kept number as it is reckoned with at `now`.
    package func opens(_ tat: Int64, at now: Int64) -> Int64 { opens(kept(tat, at: now)) }

    /// When the next one may start.
    package func opens(_ tat: Int64) -> Int64 { tat.subtractingClamped(tolerance) }

    /// What is kept when so many have started at `now`.
    package func tat(_ tat: Int64, afterStarts count: Int64, at now: Int64) -> Int64 {
        max(tat, now) + count * interval
    }

    /// What is kept when one of the starts, so many microseconds ago, came to nothing; `nil` when that changes nothing any more.
    ///
    /// It is never less than what would be kept without that start. Less than an interval after it, each start that followed has put
    /// the number an interval further for it. The first that followed may have found the time of this one unused, which is at most as
    /// long as this one is ago: so much is not given back. Later nothing is, as the whole of its time may have passed unused.
    package func tat(_ tat: Int64, withoutStart ago: Int64, at now: Int64) -> Int64? {
        guard (0..<interval).contains(ago) else { return nil }
        let isLast = tat <= now - ago + interval
        return max(0, tat - interval + (isLast ? 0 : ago))
    }
}
