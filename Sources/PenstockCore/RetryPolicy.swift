/// When a failed message comes back, and how often.
///
/// After attempt `n` (1, 2, 3, …) the delay is `min(cap, base × factor^(n-1))`, made up to `jitter` shorter at
/// random, so that messages that failed together do not come back together. With the defaults and no jitter:
///
/// | after attempt | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 |
/// |---|---|---|---|---|---|---|---|---|---|---|
/// | delay | 1 s | 2 s | 4 s | 8 s | 16 s | 32 s | 64 s | 128 s | 256 s | 512 s |
///
/// The shape is exponential backoff with jitter, as in Marc Brooker's "Exponential Backoff And Jitter" (AWS
/// Architecture Blog, 2015); the jitter is taken off, never added, so the cap holds.
public struct RetryPolicy: Hashable, Sendable, Codable {
    /// Attempts that a message is allowed, the first one included. After that it is a dead letter.
    public var attemptsMax: Int
    /// The delay after the first attempt.
    public var base: Duration
    /// How much longer each delay is than the one before.
    public var factor: Double
    /// The longest delay.
    public var cap: Duration
    /// The part of a delay, `0...1`, that chance may take off.
    public var jitter: Double

    /// Makes a policy: 10 attempts, from 1 s doubling up to an hour, up to half of it taken off by chance.
    public init(
        attemptsMax: Int = 10,
        base: Duration = .seconds(1),
        factor: Double = 2,
        cap: Duration = .seconds(3600),
        jitter: Double = 0.5
    ) {
        self.attemptsMax = attemptsMax
        self.base = base
        self.factor = factor
        self.cap = cap
        self.jitter = jitter
    }

    /// The delay after attempt `attempt` (1 for the first), with `random` in `0..<1`.
    public func delay(afterAttempt attempt: Int, random: Double) -> Duration {
        var microseconds = Double(base.wholeMicroseconds)
        let ceiling = Double(cap.wholeMicroseconds)
        // Multiplying step by step stops at the cap, where a power could become infinite.
        var step = 1
        while step < attempt, microseconds < ceiling, factor > 1 {
            microseconds *= factor
            step += 1
        }
        microseconds = min(microseconds, ceiling)
        return .microseconds(Int64(microseconds * (1 - jitter * random)))
    }

    /// Throws ``PenstockError`` with code `invalidInput` when a number is out of its range.
    public func validate() throws(PenstockError) {
        try Limits.validate(attemptsMax: attemptsMax)
        try require(
            base >= .zero && cap >= base && cap <= Limits.delayMax,
            "A retry delay must be 0 to ten years, and its cap no shorter than it.")
        try require(factor.isFinite && (1...100).contains(factor), "A retry factor must be 1 to 100.")
        try require((0...1).contains(jitter), "Retry jitter must be 0 to 1.")
    }
}
