import Foundation
import PenstockCore
import Synchronization

/// The calls that wait for the next transaction. Any thread puts them in, and the writer's takes them out.
final class JobLine: Sendable {
    private struct State {
        var jobs: [any Job] = []
        var isAsleep = false
        var isStopping = false

        /// Says whether the writer's thread has to be woken.
        mutating func wake() -> Bool {
            defer { isAsleep = false }
            return isAsleep
        }
    }

    /// Rows in one transaction, about: a transaction of this size takes some 50 ms.
    private static let weightMax = 10_000

    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)

    /// Puts in `job`, unless the line was stopped.
    func submit(_ job: any Job) -> Bool {
        let (accepted, mustWake) = state.withLock { state -> (Bool, Bool) in
            if state.isStopping { return (false, false) }
            state.jobs.append(job)
            return (true, state.wake())
        }
        if mustWake { bell.signal() }
        return accepted
    }

    /// Takes no more jobs but `last`.
    ///
    /// - Returns: whether nobody has stopped it before; `last` was not taken otherwise.
    func stop(after last: (any Job)? = nil) -> Bool {
        let (isFirst, mustWake) = state.withLock { state -> (Bool, Bool) in
            if state.isStopping { return (false, false) }
            state.isStopping = true
            if let last { state.jobs.append(last) }
            return (true, state.wake())
        }
        if mustWake { bell.signal() }
        return isFirst
    }

    var isStopping: Bool {
        state.withLock { $0.isStopping }
    }

    var count: Int {
        state.withLock { $0.jobs.count }
    }

    // MARK: On the writer's thread

    /// Sleeps until there are jobs; false when there will be none.
    func wait() -> Bool {
        while true {
            let (hasJobs, isStopping) = state.withLock { state in
                state.isAsleep = state.jobs.isEmpty && !state.isStopping
                return (!state.jobs.isEmpty, state.isStopping)
            }
            if hasJobs { return true }
            if isStopping { return false }
            bell.wait()
        }
    }

    /// Has `glance` look at all jobs, if all of them can be answered by a look; those that it says are not stay.
    func look(_ glance: (any Job) -> Bool) {
        let jobs = state.withLock { state -> [any Job] in
            guard state.jobs.allSatisfy(\.canGlance) else { return [] }
            defer { state.jobs = [] }
            return state.jobs
        }
        let left = jobs.filter { !glance($0) }
        if !left.isEmpty { state.withLock { $0.jobs = left + $0.jobs } }
    }

    /// The jobs of the next transaction.
    func take() -> [any Job] {
        state.withLock { state in
            var weight = 0
            var count = 0
            while count < state.jobs.count, count == 0 || weight + state.jobs[count].weight <= Self.weightMax {
                weight += state.jobs[count].weight
                count += 1
            }
            return take(count, from: &state)
        }
    }

    /// What another process may carry out, of the jobs that come first.
    var remoteCalls: [RemoteCall] {
        state.withLock { state in
            var calls: [RemoteCall] = []
            for job in state.jobs.prefix(RemoteCall.messagesMax) {
                guard let call = job.remoteCall else { break }
                calls.append(call)
            }
            return calls
        }
    }

    /// How long it is until the first deadline; zero or less when it has come, `nil` when there are no jobs.
    var timeLeft: Duration? {
        state.withLock { $0.jobs.lazy.map(\.deadline).min() }.map { $0 - .now }
    }

    /// Whether a job waits that asks for `durability`.
    func wants(_ durability: Durability) -> Bool {
        state.withLock { $0.jobs.contains { $0.durability == durability } }
    }

    /// The first `count` jobs, which nobody carries out any more.
    func takeFirst(_ count: Int) -> [any Job] {
        state.withLock { take(min(count, $0.jobs.count), from: &$0) }
    }

    /// The jobs whose deadline has come, but for the first `count`; nobody carries them out any more.
    func takeLate(at now: ContinuousClock.Instant, after count: Int) -> [any Job] {
        state.withLock { state in
            let late = state.jobs.dropFirst(count).filter { $0.deadline <= now }
            if !late.isEmpty {
                state.jobs = state.jobs.prefix(count) + state.jobs.dropFirst(count).filter { $0.deadline > now }
            }
            return late
        }
    }

    private func take(_ count: Int, from state: inout State) -> [any Job] {
        if count == state.jobs.count {
            defer { state.jobs = [] }
            return state.jobs
        }
        defer { state.jobs.removeFirst(count) }
        return Array(state.jobs[..<count])
    }
}
