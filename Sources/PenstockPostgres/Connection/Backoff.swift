import Foundation
import PenstockCore

/// How long to wait before a server is tried again: twice as long each time, and never as long as another process.
struct Backoff {
    private static let first = 0.05
    private static let last = 2.0
    private let random: any RandomSource
    private var seconds = Self.first

    init(random: any RandomSource) { self.random = random }

    /// Waits, on a thread that may block, and not beyond the deadline.
    mutating func wait(until deadline: ContinuousClock.Instant = .now + .seconds(60)) {
        let left = Double((deadline - .now).wholeMicroseconds) / 1_000_000
        usleep(UInt32(max(0, min(seconds * (0.5 + random.nextUnit() / 2), left)) * 1_000_000))
        seconds = min(seconds * 2, Self.last)
    }

    mutating func reset() { seconds = Self.first }
}
