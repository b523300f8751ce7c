internal import DequeModule
internal import PenstockCore
internal import Synchronization

/// The places of a worker's handlers: how many are taken, what is claimed and waits for one, and which verdicts are ready to
/// be handed in.
///
/// A handler that leaves makes room for the next message at once. Verdicts gather here while a call to the store is
/// under way, and go together with the next one.
final class HandlerSlots: Sendable {
    /// A message that was claimed, and from which of the worker's queues. It is handed on from here to there until it is settled, and
    /// a message is much to copy.
    final class Claimed: Sendable {
        let message: ClaimedMessage
        let source: Int

        init(_ message: ClaimedMessage, source: Int = 0) {
            self.message = message
            self.source = source
        }
    }

    /// A message whose work has ended, to be settled.
    struct Finished: Sendable {
        let claimed: Claimed
        var verdict: Verdict
        /// Whether the store was given it before, and nobody knows what became of it.
        var wasTried = false
        /// Whether no handler has begun with it.
        var isUnbegun = false

        var settlement: Settlement {
            var settlement = Settlement(message.lease, verdict)
            settlement.isUnbegun = isUnbegun
            return settlement
        }

        var message: ClaimedMessage { claimed.message }
        var source: Int { claimed.source }
    }

    /// What the worker goes by when it claims.
    struct Taken {
        var finished: [Finished]
        /// Messages at work.
        var busyCount: Int
        /// Messages that wait for a place, and how long the first of them may.
        var waitingCount: Int
        var waitingEnd: BootTime?
        /// How many messages to claim beyond the free places.
        var aheadCount: Int
        /// Whether so many wait for a place that it is too early to claim more.
        var isStocked: Bool
    }

    private struct Waiting {
        var claimed: Claimed
        var end: BootTime
    }

    private struct State {
        var ahead: ClaimAhead
        var busyCount = 0
        var waiting: Deque<Waiting> = []
        var finished: [Finished] = []
        /// Whether something has changed since it was last looked at.
        var isTouched = false
        var waiter: CheckedContinuation<Void, Never>?

        mutating func touch() -> CheckedContinuation<Void, Never>? {
            isTouched = true
            return waiter.take()
        }

        /// How long the first message that waits for a place may.
        var waitingEnd: BootTime? { waiting.first?.end }

        /// Whether more than half of what is claimed ahead waits for a place. Handlers then go on for a while by
        /// themselves, and what they finish goes together with the next claim.
        var isStocked: Bool { waiting.count > ahead.count / 2 }
    }

    private let concurrency: Int
    private let state: Mutex<State>

    init(concurrency: Int, ahead span: Duration) {
        self.concurrency = concurrency
        state = Mutex(State(ahead: ClaimAhead(span: span, concurrency: concurrency)))
    }

    /// Takes messages up that were claimed at `now`.
    ///
    /// - Returns: those that have a place, and begin. The others wait for one, in order.
    func begin(_ claimed: [Claimed], at now: BootTime) -> [Claimed] {
        state.withLock { state in
            let end = now + state.ahead.patience
            for claimed in claimed { state.waiting.append(Waiting(claimed: claimed, end: end)) }
            var begun: [Claimed] = []
            while state.busyCount < concurrency, let next = state.waiting.popFirst()?.claimed {
                begun.append(next)
                state.busyCount += 1
            }
            return begun
        }
    }

    /// A message's work has ended, though its handler may still be there.
    func handIn(_ finished: Finished) {
        let waiter = state.withLock { state in
            state.finished.append(finished)
            return state.touch()
        }
        waiter?.resume()
    }

    /// The store could not take these: they are handed in again with what else is finished by then.
    func keep(_ finished: [Finished]) {
        state.withLock { $0.finished.insert(contentsOf: finished, at: 0) }
    }

    /// A handler has returned after `work`, and may have something to hand in; or there was none, and no work.
    ///
    /// - Returns: a message that has its place now, and begins.
    func leave(_ finished: Finished? = nil, after work: Duration?) -> Claimed? {
        let (next, waiter) = state.withLock { state in
            if let work { state.ahead.record(work) }
            if let finished { state.finished.append(finished) }
            let next = state.waiting.popFirst()?.claimed
            if next == nil { state.busyCount -= 1 }
            return (next, state.isStocked ? nil : state.touch())
        }
        waiter?.resume()
        return next
    }

    /// Has ``wait(evenIfCancelled:)`` return.
    func touch() {
        state.withLock { $0.touch() }?.resume()
    }

    /// What was handed in, and how many messages are in the worker's hands. While it is stocked, what was handed in stays,
    /// unless `wantsAll`.
    func take(at now: BootTime, wantsAll: Bool) -> Taken {
        state.withLock { state in
            state.isTouched = false
            let isStocked = !wantsAll && state.isStocked && state.waitingEnd?.left(at: now) != nil
            defer { if !isStocked { state.finished = [] } }
            return Taken(
                finished: isStocked ? [] : state.finished, busyCount: state.busyCount,
                waitingCount: state.waiting.count, waitingEnd: state.waitingEnd, aheadCount: state.ahead.count,
                isStocked: isStocked)
        }
    }

    /// How long the first message that waits for a place may; `nil` when none does.
    var waitingEnd: BootTime? { state.withLock { $0.waitingEnd } }

    /// Takes out what waits for a place, to be given back.
    func takeWaiting() -> [Finished] {
        state.withLock { state in
            defer { state.waiting = [] }
            state.ahead.forget()
            return state.waiting.map { Finished(claimed: $0.claimed, verdict: .release, isUnbegun: true) }
        }
    }

    /// What has changed until now is known: ``wait(evenIfCancelled:)`` waits for something else.
    func expectNews() {
        state.withLock { $0.isTouched = false }
    }

    /// Whether a task waits. For tests, which go on at this signal.
    var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    /// Returns when something was handed in or a handler has left since the last ``take(at:wantsAll:)``. One task may wait.
    ///
    /// A task that is cancelled returns at once, unless it is told to wait all the same: handlers do leave.
    func wait(evenIfCancelled: Bool = false) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayGo = state.withLock { state in
                    if state.isTouched || !evenIfCancelled && Task.isCancelled { return true }
                    state.waiter = continuation
                    return false
                }
                if mayGo { continuation.resume() }
            }
        } onCancel: {
            if !evenIfCancelled { state.withLock { $0.waiter.take() }?.resume() }
        }
    }
}

/// How many messages a worker claims beyond its free places, so that handlers that take microseconds do not wait for
/// the store after each: as many as they would work in a few milliseconds, going by how long they have taken lately.
struct ClaimAhead: Sendable {
    /// How much work to claim ahead.
    let span: Duration
    /// How many handlers may run at once.
    let concurrency: Int

    /// No more than this, however fast handlers are.
    static let countMax = 256
    /// So many handlers must have ended before anything is claimed ahead.
    private static let workMin = 16
    /// What a handler takes at least, with all that is around it.
    private static let microsecondsMin = 10.0
    /// The weight of the newest handler in the average.
    private static let weight = 1.0 / 8

    private var microseconds = 0.0
    private var workCount = 0

    init(span: Duration, concurrency: Int) {
        self.span = span
        self.concurrency = concurrency
    }

    /// A handler has taken so long.
    mutating func record(_ work: Duration) {
        let new = work / .microseconds(1)
        microseconds = workCount == 0 ? new : microseconds + (new - microseconds) * Self.weight
        workCount += 1
    }

    /// Handlers have become slow: nothing is claimed ahead before some have ended.
    mutating func forget() {
        workCount = 0
    }

    /// How many messages to claim ahead now.
    var count: Int {
        guard workCount >= Self.workMin else { return 0 }
        let handlers = span / .microseconds(1) / Swift.max(microseconds, Self.microsecondsMin)
        return Int(min(handlers * Double(concurrency), Double(Self.countMax)))
    }

    /// How long a message may wait in the worker before it is given back, so that another worker has it.
    var patience: Duration { span * 10 }
}
