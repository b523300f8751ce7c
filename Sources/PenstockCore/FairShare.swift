/// What one group has had of a queue that is shared fairly.
package struct FairShare: Sendable {
    /// By how much each message puts off the next one of a group that weighs 1.
    package static let step: Int64 = 1_000_000

    /// How much the group weighs against others.
    package var weight: Int64
    /// The turn behind its last message.
    package private(set) var next: Int64

    package init(weight: Int64 = 1, next: Int64 = 0) {
        self.weight = weight
        self.next = next
    }

    /// Gives the group's next message its turn.
    ///
    /// - Parameter current: the turn that was claimed last.
    package mutating func take(notBefore current: Int64) -> Int64 {
        let turn = max(current, next)
        // What others have written by hand stops at the end of the range.
        let (sum, overflow) = turn.addingReportingOverflow(Self.step / max(1, weight))
        next = overflow ? .max : sum
        return turn
    }
}
