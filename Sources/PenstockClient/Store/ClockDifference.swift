import PenstockCore

/// How far this machine's clock is ahead of the server's, as far as answers have shown: each was written between the moments at
/// which it was asked for and read here.
///
/// Where the clocks may be the same they are taken for that, and no moment is changed. Where they are not, a moment is moved to
/// where it certainly is not too early: a worker that waits for it would find that it has not come, and wait again and again.
struct ClockDifference: Equatable, Sendable {
    private var least: Duration
    private var most: Duration

    /// Nothing is known, and the clocks may be the same.
    static let unknown = ClockDifference(least: .microseconds(Int64.min), most: .microseconds(Int64.max))

    /// What one answer shows, which was asked for and read by this machine's clock, and written by the server's.
    init(asked: Timestamp, read: Timestamp, server: Timestamp) {
        self.init(least: asked - server, most: read - server)
    }

    private init(least: Duration, most: Duration) {
        self.least = least
        self.most = most
    }

    /// What is known after another answer. What does not fit what was known before shows that a clock was set, or runs wrong.
    func narrowed(by other: ClockDifference) -> ClockDifference {
        let both = ClockDifference(least: max(least, other.least), most: min(most, other.most))
        return both.least <= both.most ? both : other
    }

    private var mayBeNone: Bool { least <= .zero && most >= .zero }

    /// A moment of the server's, by this machine's clock.
    func here(_ moment: Timestamp) -> Timestamp { mayBeNone ? moment : moment + most }

    /// A moment of this machine's, by the server's clock.
    func there(_ moment: Timestamp) -> Timestamp { mayBeNone ? moment : moment - least }
}
