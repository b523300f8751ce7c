internal import PenstockCore
import Synchronization

/// What a clock shows, and the moment in it that sleepers wait for.
protocol Reading: Sendable {
    associatedtype Moment: Comparable & Sendable
    var moment: Moment { get }
}

/// What every clock that is moved by hand has inside: what it shows, and its sleepers.
///
/// A sleeper is taken off the list in the same step that moves the clock, so a count taken afterwards only holds
/// tasks that still sleep.
final class HandMoved<Shown: Reading>: Sendable {
    private struct Sleeper {
        var deadline: Shown.Moment
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var shown: Shown
        var sleepers: [UInt64: Sleeper] = [:]
        var watching: [(count: Int, waiter: Waiter<Void>)] = []
        var nextID: UInt64 = 0

        mutating func newID() -> UInt64 {
            nextID += 1
            return nextID
        }

        /// Takes out the sleepers that are due: by deadline, and of one deadline in the order in which they lay down.
        mutating func takeSleepers(
            where isDue: (Shown.Moment) -> Bool
        ) -> [CheckedContinuation<Void, any Error>] {
            let due = sleepers.filter { isDue($0.value.deadline) }.sorted {
                ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key)
            }
            for (id, _) in due { sleepers[id] = nil }
            return due.map(\.value.continuation)
        }

        mutating func takeWatchers() -> [Waiter<Void>] {
            let content = watching.filter { $0.count <= sleepers.count }.map(\.waiter)
            watching.removeAll { $0.count <= sleepers.count || $0.waiter.isOver }
            return content
        }
    }

    private let state: Mutex<State>

    init(_ shown: Shown) {
        state = Mutex(State(shown: shown))
    }

    var shown: Shown { state.withLock { $0.shown } }

    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    var nextDeadline: Shown.Moment? { state.withLock { $0.sleepers.values.map(\.deadline).min() } }

    /// Moves the clock, and then wakes those whose moment has come: all of them when `wakingAll` is true.
    func move(wakingAll: Bool = false, _ change: (inout Shown) -> Void) {
        let woken = state.withLock { state in
            change(&state.shown)
            let moment = state.shown.moment
            return state.takeSleepers { wakingAll || $0 <= moment }
        }
        for continuation in woken { continuation.resume() }
    }

    /// Moves the clock by what `change` makes of the next deadline. Returns `false` when nobody sleeps.
    func moveToNextDeadline(_ change: (inout Shown, Shown.Moment) -> Void) -> Bool {
        let woken: [CheckedContinuation<Void, any Error>]? = state.withLock { state in
            guard let deadline = state.sleepers.values.map(\.deadline).min() else { return nil }
            change(&state.shown, deadline)
            return state.takeSleepers { $0 <= deadline }
        }
        guard let woken else { return false }
        for continuation in woken { continuation.resume() }
        return true
    }

    func sleep(until deadline: Shown.Moment) async throws {
        let id = state.withLock { $0.newID() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, content): (Result<Void, any Error>?, [Waiter<Void>]) = state.withLock { state in
                    if Task.isCancelled { return (.failure(CancellationError()), []) }
                    if deadline <= state.shown.moment { return (.success(()), []) }
                    state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
                    return (nil, state.takeWatchers())
                }
                if let result { continuation.resume(with: result) }
                for watcher in content { watcher.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Returns once at least `count` tasks sleep.
    func waitForSleepers(count: Int) async throws {
        let waiter = state.withLock { state -> Waiter<Void>? in
            if state.sleepers.count >= count { return nil }
            let waiter = Waiter<Void>()
            state.watching.append((count, waiter))
            return waiter
        }
        try await waiter?.wait()
        try Task.checkCancellation()
    }
}
