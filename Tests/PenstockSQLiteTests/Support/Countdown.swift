import Synchronization

/// Lets so many steps go by, and then throws.
final class Countdown: Sendable {
    struct Over: Error {}

    private let state: Mutex<(left: Int, done: Int)>

    init(_ count: Int) { state = Mutex((count, 0)) }

    /// How many have gone by.
    var count: Int { state.withLock(\.done) }

    func set(_ count: Int) { state.withLock { $0.left = count } }

    func step() throws {
        let isOver = state.withLock { state in
            state.done += 1
            state.left -= 1
            return state.left == 0
        }
        if isOver { throw Over() }
    }
}
