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
    private let access: DatabaseAccess
    private let limit: Duration
    private let ended: ThreadEnd
    private let state = Mutex(State())

    /// Makes a wait that has an end after `access.busyMax`, and twice that for who comes while others wait already. When `line` is
    /// stopped and nobody is left in it, that is the end of the thread as far as others are concerned.
    init(_ line: JobLine, access: DatabaseAccess, ended: ThreadEnd) {
        self.line = line
        self.access = access
        limit = access.busyMax
        self.ended = ended
    }

    /// Takes the turn, or has what waits in the line carried out by who has it.
    ///
    /// - Parameter handsOver: whether the latter is wanted.
    func enter(handsOver: Bool) -> Handover.Entry {
        if access.turnstile.enterAtOnce() { return .turn }
        let mustSet = state.withLock { state in
            state.since = .now
            state.count = line.count
            defer { state.isTimerSet = true }
            return !state.isTimerSet
        }
        if mustSet { setTimer(limit) }
        defer { state.withLock { $0.since = nil } }
        if handsOver, let handover = access.handover, handover.post(line.parcels) {
            return handover.wait()
        }
        access.turnstile.enter()
        return .turn
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
            // Whoever has taken them may carry them out: then they have not failed.
            if access.handover?.withdraw() == false { return (limit, []) }
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
