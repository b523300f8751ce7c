import Foundation
import PenstockCore

/// How long to wait before a server is tried again: twice as long each time, and never as long as another process.
struct Backoff {
    private static let first = 0.05
    private static let last = 1.0
    private let random: any RandomSource
    private var seconds = Self.first

    init(random: any RandomSource = SystemRandom()) { self.random = random }

    /// How long to wait this time.
    mutating func next() -> Duration {
        defer { seconds = min(seconds * 2, Self.last) }
        return .seconds(seconds * (0.5 + random.nextUnit() / 2))
    }

    /// Waits, on a thread that may block, and not beyond the deadline.
    mutating func wait(until deadline: ContinuousClock.Instant) {
        let time = min(next(), deadline - .now)
        if time > .zero { usleep(UInt32(clamping: time.wholeMicroseconds)) }
    }

    mutating func reset() { seconds = Self.first }
}
