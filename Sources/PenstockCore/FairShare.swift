/// What one group has had of a queue that is shared fairly, among messages of one priority.
package struct FairShare: Sendable {
    /// By how much each message puts off the next one of a group that weighs 1.
    package static let step: Int64 = 1_000_000
    /// What others have written by hand stops here.
    private static let last = Int64.max / 2

    /// How much the group weighs against others.
    package var weight: Int64
    /// The turn behind its last message.
    package private(set) var next: Int64
    /// The turn behind the last of its messages that came back. Never behind ``next``.
    package private(set) var again: Int64

    package init(weight: Int64 = 1, next: Int64 = 0, again: Int64 = 0) {
        self.weight = weight
        self.next = next
        self.again = again
    }

    private var step: Int64 { Self.step / max(1, weight) }

    /// Gives a message its turn that becomes ready.
    ///
    /// One that comes back to be tried again does not go behind all that its group has waiting: those have a row of turns of their
    /// own, and put off what the group brings next.
    ///
    /// - Parameters:
    ///   - again: whether an attempt at it was begun that counts.
    ///   - current: the turn that was claimed last.
    package mutating func take(again isAgain: Bool, notBefore current: Int64) -> Int64 {
        let turn = min(max(current, isAgain ? again : next), Self.last)
        if isAgain { again = min(turn + step, Self.last) }
        next = min(max(current, next) + step, Self.last)
        return turn
    }

    /// Takes a turn back, as a message that was ready is no more and has not started.
    package mutating func giveBack(again isAgain: Bool) {
        if isAgain { again = max(0, again - step) }
        next = max(again, next - step)
    }
}
