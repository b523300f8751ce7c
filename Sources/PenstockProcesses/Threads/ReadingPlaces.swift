package import PenstockCore
import Synchronization

/// Bounds how many readings of a store run at once, or transactions of an application, each on a thread of its own. Further ones wait as
/// tasks, in the order in which they came: a program may begin thousands, and threads are what the system has few of.
package final class ReadingPlaces: Sendable {
    private struct State {
        var freeCount: Int
        /// Those that wait, by their numbers.
        var waiting: [Int: Waiter<Void>] = [:]
        /// No number below this waits.
        var first = 0
        var next = 0

        mutating func popFirst() -> Waiter<Void>? {
            while first < next {
                defer { first += 1 }
                if let waiter = waiting.removeValue(forKey: first) { return waiter }
            }
            return nil
        }
    }

    private let state: Mutex<State>
    private let time: any TimeSource

    /// - Parameters:
    ///   - count: how many readings run at once, 1 or more.
    ///   - time: by which they wait.
    package init(_ count: Int, time: any TimeSource = SystemTime()) {
        state = Mutex(State(freeCount: count))
        self.time = time
    }

    /// How many readings wait for a place.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `body`, which may block, on a thread of its own once there is a place.
    ///
    /// - Parameter patience: how long it may wait for that; `nil`: as long as the others take.
    /// - Throws: what `body` throws; `DeadlinePassed`; `CancellationError` when the task is cancelled before it begins; `storage` when the
    ///   system makes no thread.
    package func run<Answer: Sendable>(
        within patience: Duration? = nil, _ body: @escaping @Sendable () throws -> Answer
    ) async throws -> Answer {
        try Task.checkCancellation()
        try await enter(within: patience)
        defer { leave() }
        try Task.checkCancellation()
        return try await SystemThread.run(body)
    }

    private func enter(within patience: Duration?) async throws {
        let turn = state.withLock { state -> (number: Int, waiter: Waiter<Void>)? in
            if state.freeCount > 0 {
                state.freeCount -= 1
                return nil
            }
            let waiter = Waiter<Void>()
            defer { state.next += 1 }
            state.waiting[state.next] = waiter
            return (state.next, waiter)
        }
        guard let turn else { return }
        do {
            try await within(patience.map { time.boot + $0 }, time) { try await turn.waiter.wait() }
        } catch {
            // One that is not among those who wait any more was given the place just then.
            let hasPlace = state.withLock { $0.waiting.removeValue(forKey: turn.number) == nil }
            if hasPlace { leave() }
            throw error
        }
    }

    /// Hands the place to the next one.
    private func leave() {
        let next = state.withLock { state in
            let next = state.popFirst()
            if next == nil { state.freeCount += 1 }
            return next
        }
        next?.resume()
    }
}
