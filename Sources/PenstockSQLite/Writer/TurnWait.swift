import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization

/// Answers those who wait for the writer while its thread is blocked at the turnstile, or waits for another process that
/// carries out its calls, when that takes too long.
///
/// The thread stays where it is, and then finds nothing of theirs. A timer is set only when the turn is taken, and not
/// again while one is set.
final class TurnWait: Sendable {
    private struct State {
        /// Since when the thread is blocked.
        var since: ContinuousClock.Instant?
        /// How many calls have waited since then.
        var count = 0
        /// How many of these, the first ones, another process may carry out.
        var postedCount = 0
        /// Whether these have waited for as long as others may.
        var havePostedWaited = false
        var isTimerSet = false
    }

    private let line: JobLine
    private let access: DatabaseAccess
    private let limit: Duration
    private let ended: ThreadEnd
    private let state = Mutex(State())

    /// Makes a wait that has an end after `access.busyMax`, and twice that for who comes while others wait already. When
    /// `line` is stopped and nobody is left in it, that is the end of the thread as far as others are concerned.
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
        let handover = access.handover
        // What is posted, what of it was answered, and whom the timer answers are one thing: nobody is answered twice.
        let (isPosted, mustSet) = state.withLock { state in
            state.postedCount = handsOver ? handover?.post(line.parcels) ?? 0 : 0
            state.havePostedWaited = false
            state.since = .now
            state.count = line.count
            defer { state.isTimerSet = true }
            return (state.postedCount > 0, !state.isTimerSet)
        }
        if mustSet { setTimer(limit) }
        let entry: Handover.Entry
        if isPosted, let handover {
            entry = handover.wait()
        } else {
            access.turnstile.enter()
            entry = .turn
        }
        return state.withLock { state in
            state.since = nil
            guard case .answered(let answer) = entry else { return entry }
            // Its callers may have been told meanwhile that nobody knows what has become of it.
            if state.postedCount == 0 { return .answered(.none) }
            handover?.disown()
            return .answered(answer)
        }
    }

    private func setTimer(_ pause: Duration) {
        DispatchQueue.global().asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in self?.look() }
    }

    private func look() {
        let (pause, late) = state.withLock { state -> (Duration?, [(any Job, PenstockError)]) in
            guard let since = state.since else {
                state.isTimerSet = false
                return (nil, [])
            }
            let left = limit - (ContinuousClock.now - since)
            if left > .zero { return (left, []) }
            let late = takeLate(&state)
            state.since = .now
            state.count = line.count
            return (limit, late)
        }
        for (job, error) in late { job.finish(error) }
        if !late.isEmpty, line.isOver { ended.come() }
        if let pause { setTimer(pause) }
    }

    /// Takes the calls out of the line that have waited too long.
    private func takeLate(_ state: inout State) -> [(any Job, PenstockError)] {
        if state.postedCount == 0 || access.handover?.withdraw() != false {
            state.postedCount = 0
            return line.takeFirst(state.count).map { ($0, busy) }
        }
        // Another process has taken the first ones, and may carry them out yet. The others have failed.
        let others = line.take(after: state.postedCount, upTo: state.count).map { ($0, busy) }
        defer { state.havePostedWaited = true }
        guard state.havePostedWaited else { return others }
        access.handover?.disown()
        defer { state.postedCount = 0 }
        return others + line.takeFirst(state.postedCount).map { ($0, doubtful) }
    }

    private var busy: PenstockError {
        PenstockError(
            .busy, "Another process has written to this store for longer than \(limit); is it stopped? End it.")
    }

    private var doubtful: PenstockError {
        PenstockError(
            .storage,
            "Another process carries this call out, and has not said in \(limit) what came of it; is it stopped? It may "
                + "be there or not.")
    }
}
