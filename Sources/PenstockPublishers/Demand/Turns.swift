internal import DequeModule

/// What is still to be said to one subscriber, in order, and whether a thread is saying it.
///
/// A subscriber is told one thing at a time. A thread that has something to say while another one speaks, or while it
/// speaks itself further up its stack, leaves it here, and the thread that speaks says it next. So `receive`, `request` and
/// `cancel` may race and re-enter, the order is that of the events, and nothing recurses.
struct Turns<Step> {
    private var steps: Deque<Step> = []
    private var isTaken = false

    /// Adds what is to be said. Returns whether the caller is to say it: then it calls `next()` until that is `nil`.
    mutating func take(_ more: some Sequence<Step>) -> Bool {
        steps.append(contentsOf: more)
        guard !isTaken, !steps.isEmpty else { return false }
        isTaken = true
        return true
    }

    /// Takes the first turn, for a caller that gives the subscriber its subscription. It calls `next()` afterwards until that
    /// is `nil`.
    mutating func begin() { isTaken = true }

    /// The next thing to say; `nil` ends the caller's turn.
    mutating func next() -> Step? {
        guard let step = steps.popFirst() else {
            isTaken = false
            return nil
        }
        return step
    }

    /// Forgets what was not said yet: nobody listens any more.
    ///
    /// - Returns: what it was, for the caller to let go of when no lock is held: the end of a value may come back here.
    mutating func forget() -> Deque<Step> {
        defer { steps = [] }
        return steps
    }
}
