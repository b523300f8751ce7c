import Synchronization

/// Counts what lives: a stream that is over must have let go of everything that was given to it.
final class Live: Sendable {
    /// Something that is counted while it lives.
    final class Token: Sendable {
        private let live: Live

        fileprivate init(_ live: Live) {
            self.live = live
            live.inside.withLock { $0 += 1 }
        }

        deinit {
            live.inside.withLock { $0 -= 1 }
        }
    }

    private let inside = Mutex(0)

    var count: Int { inside.withLock { $0 } }

    func token() -> Token { Token(self) }
}
