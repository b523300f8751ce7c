import Foundation
import PenstockCore
import Synchronization

/// Answers those who wait for the writer while its thread is blocked at the turnstile, when that takes too long.
///
/// The thread stays blocked until its turn comes, and then finds nothing of theirs. A timer is set only when the turn is
/// taken, and not again while one is set.
final class TurnWait: Sendable {
    private struct State {
        /// Since when the thread is blocked.
        var since: ContinuousClock.Instant?
        /// How many calls have waited since then.
        var count = 0
        var isTimerSet = false
    }

    private let line: JobLine
    private let limit: Duration
    private let ended: ThreadEnd
    private let state = Mutex(State())

    /// Makes a wait that has an end after `limit`, and twice that for who comes while others wait already. When `line` is
    /// stopped and nobody is left in it, that is the end of the thread as far as others are concerned.
    init(_ line: JobLine, limit: Duration, ended: ThreadEnd) {
        self.line = line
        self.limit = limit
        self.ended = ended
    }

    /// Enters `turnstile`.
    func enter(_ turnstile: Turnstile) {
        if turnstile.enterAtOnce() { return }
        let mustSet = state.withLock { state in
            state.since = .now
            state.count = line.count
            defer { state.isTimerSet = true }
            return !state.isTimerSet
        }
        if mustSet { setTimer(limit) }
        turnstile.enter()
        state.withLock { $0.since = nil }
    }

    private func setTimer(_ pause: Duration) {
        DispatchQueue.global().asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in self?.look() }
    }

    private func look() {
        let (pause, late) = state.withLock { state -> (Duration?, [any Job]) in
            guard let since = state.since else {
                state.isTimerSet = false
                return (nil, [])
            }
            let left = limit - (ContinuousClock.now - since)
            if left > .zero { return (left, []) }
            let late = line.takeFirst(state.count)
            state.since = .now
            state.count = line.count
            return (limit, late)
        }
        for job in late { job.finish(busy) }
        if !late.isEmpty, line.isOver { ended.come() }
        if let pause { setTimer(pause) }
    }

    private var busy: PenstockError {
        PenstockError(
            .busy, "Another process has written to this store for longer than \(limit); is it stopped? End it.")
    }
}
