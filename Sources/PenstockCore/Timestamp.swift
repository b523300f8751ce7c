/// A moment on the wall clock: whole microseconds since 1970-01-01T00:00:00Z.
///
/// Due times, log times and retention use it. Leases do not: they are judged by ``BootTime``, which no
/// clock correction moves.
public struct Timestamp: InstantProtocol, Codable {
    /// Microseconds since the Unix epoch.
    public var microseconds: Int64

    /// Makes the moment that lies `microseconds` after the Unix epoch.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Whether `left` is the earlier moment.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The moment `duration` later. Stops at the ends of the range rather than overflowing.
    public func advanced(by duration: Duration) -> Timestamp {
        Timestamp(microseconds: microseconds.addingClamped(duration.wholeMicroseconds))
    }

    /// How long after this moment `other` is; negative when it is before.
    public func duration(to other: Timestamp) -> Duration {
        .microseconds(other.microseconds.subtractingClamped(microseconds))
    }

    /// The moment `duration` later. Stops at the ends of the range rather than overflowing.
    public static func + (moment: Timestamp, duration: Duration) -> Timestamp {
        moment.advanced(by: duration)
    }

    /// The moment `duration` earlier. Stops at the ends of the range rather than overflowing.
    public static func - (moment: Timestamp, duration: Duration) -> Timestamp {
        moment.advanced(by: .zero - duration)
    }

    /// How long after `earlier` this moment is; negative when it is before.
    public static func - (moment: Timestamp, earlier: Timestamp) -> Duration {
        earlier.duration(to: moment)
    }
}

extension Duration {
    /// The duration in whole microseconds, rounded towards zero, and held at the ends of `Int64`.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        return product.addingClamped(attoseconds / 1_000_000_000_000)
    }
}

extension FixedWidthInteger {
    /// The sum, or the end of the range beyond which it is.
    package func addingClamped(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the end of the range beyond which it is.
    func subtractingClamped(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
