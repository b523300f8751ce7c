import Foundation
package import PenstockCore
import PenstockProcesses
import Synchronization

/// The one writer of a store: the line of the calls that wait for the next transaction, and a thread that takes everything
/// that callers have asked for meanwhile into one, and answers each of them after its COMMIT.
///
/// While a transaction runs, and above all while the disk is flushed, calls gather; they all go into the next one. So
/// one flush serves many callers, nobody waits for a turn among callers of this process, and nobody sees a lock.
///
/// A call that fails by itself (a full queue, a lost lease) has changed nothing and stops no other. When the storage
/// fails, the transaction is rolled back and its calls are carried out again one by one, so that each has its own
/// answer.
package final class GroupWriter: Sendable {
    private struct State {
        var jobs: [Job] = []
        /// Whether the thread has to be woken.
        var isAsleep = false
        var isStopping = false
    }

    /// Rows in one transaction, about: a transaction of this size takes some 50 ms.
    private static let weightMax = 10_000

    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)
    private let end = Latch()
    private let busyMax: Duration
    private let refusal: PenstockError?

    /// Starts the thread, which keeps the writer until it is stopped.
    ///
    /// - Parameters:
    ///   - busyMax: how long a call waits for the right to write before its caller is told.
    ///   - refusal: what every call is told, when the store was opened only to be read.
    ///   - run: carries out what is asked for, until ``wait()`` says that there will be nothing more.
    /// - Throws: when the system makes no thread.
    package init(
        busyMax: Duration, refusal: PenstockError? = nil, run: @escaping @Sendable (GroupWriter) -> Void
    ) throws {
        self.busyMax = busyMax
        self.refusal = refusal
        try SystemThread.start("penstock writer") { [self] in
            run(self)
            end.open()
        }
    }

    // MARK: Callers

    /// Runs `body` in a transaction, with other callers' work before and after it.
    ///
    /// - Parameters:
    ///   - durability: what the commit must survive; `nil` when the work may be lost with power.
    ///   - weight: about how many rows the work touches, so that transactions stay short.
    ///   - duringMove: when it is carried out though the queues move to another store.
    ///   - check: finds out by reading, outside of a transaction, whether there is anything to do, and gives the answer if not.
    ///   - posted: the same call, for another process to carry out.
    ///   - unflushed: makes the answer of a call that is committed, and of which nobody knows whether it is on the disk;
    ///     `nil`: it throws.
    ///   - flushed: when given, the caller is answered after the COMMIT, and this is told what became of the flush.
    ///   - prefetch: says what `body` is about to read.
    ///   - body: throws ``PenstockError`` only before its first write.
    package func perform<T: Sendable>(
        durability: Durability? = nil,
        weight: Int = 1,
        duringMove: Departure.Allowance = .nothing,
        check: Job.Check<T>? = nil,
        posted: Job.Posted<T>? = nil,
        unflushed: Job.Unflushed<T>? = nil,
        flushed: (any MessageStore).Flushed? = nil,
        prefetch: Job.Prefetch? = nil,
        _ body: @escaping @Sendable (Transaction) throws -> T
    ) async throws -> T {
        if let refusal {
            try refuseClosed()
            throw refusal
        }
        return try await withCheckedThrowingContinuation { continuation in
            let job = Job(
                durability: durability, weight: weight, duringMove: duringMove, check: check, deadline: .now + busyMax,
                posted: posted, unflushed: unflushed, flushed: flushed, prefetch: prefetch, body: body,
                continuation: continuation)
            if !submit(job) { continuation.resume(throwing: Self.closed) }
        }
    }

    /// Finishes what was asked for, then `last`, ends the thread, and returns when it is through. No call comes after
    /// `last`, which is not done when the writer was closed before.
    ///
    /// - Parameters:
    ///   - check: says, outside of a transaction, that there is nothing for `last` to do. Then the close waits
    ///     for no other process, unless calls came before it that have to.
    ///   - patience: how long `last` may wait for the right to write; `nil`: as long as a call.
    /// - Throws: what `last` threw. The writer is closed all the same.
    package func close(
        unless check: @escaping @Sendable (Connection) throws -> Bool, patience: Duration? = nil,
        _ last: @escaping @Sendable (Transaction) throws -> Void
    ) async throws {
        var failure: (any Error)?
        do {
            try await withCheckedThrowingContinuation { continuation in
                let job = Job(
                    duringMove: .all, check: { connection, _, _ in try check(connection) ? () : nil },
                    deadline: .now + (patience ?? busyMax), body: last, continuation: continuation)
                if !submit(job, isLast: true) { continuation.resume() }
            }
        } catch {
            failure = error
        }
        await end.waitThoughCancelled()
        if let failure { throw failure }
    }

    /// Finishes what was asked for, ends the thread, and returns when it is through.
    package func close() async {
        stop()
        await end.waitThoughCancelled()
    }

    /// Takes no more calls. What was asked for is finished, and then the thread ends.
    package func stop() {
        _ = submit(nil, isLast: true)
    }

    /// Throws `closed` once the writer was told to end.
    package func refuseClosed() throws {
        if state.withLock({ $0.isStopping }) { throw Self.closed }
    }

    /// How many calls wait for the next transaction.
    package var count: Int { state.withLock { $0.jobs.count } }

    private static var closed: PenstockError { PenstockError(.closed, "The store is closed; open it again.") }

    /// Puts `job` in the line; false when the writer was told to end before.
    private func submit(_ job: Job?, isLast: Bool = false) -> Bool {
        let (isAccepted, mustWake) = state.withLock { state in
            if state.isStopping { return (false, false) }
            if let job { state.jobs.append(job) }
            state.isStopping = isLast
            defer { state.isAsleep = false }
            return (true, state.isAsleep)
        }
        if mustWake { bell.signal() }
        return isAccepted
    }
}

/// The line, as the writer's thread works it off.
extension GroupWriter {
    /// Sleeps until there are jobs; false when there will be none.
    package func wait() -> Bool {
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

    /// Has all jobs looked at while each of them may be answered by a read-only check, also those that come meanwhile.
    ///
    /// - Parameter unanswered: answers jobs by reading, and gives back those that want a transaction.
    /// - Returns: whether jobs are left.
    package func look(_ unanswered: ([Job]) -> [Job]) -> Bool {
        // A caller that has its answer may have asked for the next thing by now, which a look may answer as well.
        while count > 0 {
            let jobs = state.withLock { state -> [Job]? in
                guard state.jobs.allSatisfy(\.canCheck) else { return nil }
                defer { state.jobs = [] }
                return state.jobs
            }
            guard let jobs else { return true }
            let left = unanswered(jobs)
            state.withLock { $0.jobs.insert(contentsOf: left, at: 0) }
            if !left.isEmpty { return true }
        }
        return false
    }

    /// The jobs of the next transaction.
    package func take() -> [Job] {
        state.withLock { state in
            var weight = 0
            let count = state.jobs.prefix { job in
                weight += job.weight
                return weight <= Self.weightMax
            }.count
            return state.jobs.removeFirst(upTo: max(1, count))
        }
    }

    /// What another process may carry out, of the jobs that come first.
    package var postedCalls: [PostedCall] {
        state.withLock { state in
            var calls: [PostedCall] = []
            for job in state.jobs.prefix(PostedCall.messagesMax) {
                guard let call = job.postedCall else { break }
                calls.append(call)
            }
            return calls
        }
    }

    /// How long it is until the first deadline; zero or less when it has come, `nil` when there are no jobs.
    package var timeLeft: Duration? { firstDeadline.map { $0 - .now } }

    /// The first deadline; `nil` when there are no jobs.
    package var firstDeadline: ContinuousClock.Instant? { state.withLock { $0.jobs.lazy.map(\.deadline).min() } }

    /// Whether a job waits that asks to survive a loss of power.
    package var wantsPowerLoss: Bool { state.withLock { $0.jobs.includePowerLoss } }

    /// Whether all jobs that wait, if there are any, ask for that.
    package var wantsNothingElse: Bool { state.withLock { $0.jobs.areForPowerLoss } }

    /// The first `count` jobs, which nobody carries out any more.
    package func takeFirst(_ count: Int) -> [Job] {
        state.withLock { $0.jobs.removeFirst(upTo: count) }
    }

    /// The jobs that another process has carried out, with what each of them gave.
    package func accept(_ receipts: [[Receipt]]) -> [Job] {
        let jobs = takeFirst(receipts.count)
        for (job, receipts) in zip(jobs, receipts) { job.accept(receipts) }
        return jobs
    }

    /// The jobs whose deadline has come, but for the first `count`; nobody carries them out any more.
    package func takeLate(after count: Int) -> [Job] {
        let now = ContinuousClock.now
        return state.withLock { state in
            let late = state.jobs.dropFirst(count).filter { $0.deadline <= now }
            if !late.isEmpty {
                state.jobs = state.jobs.prefix(count) + state.jobs.dropFirst(count).filter { $0.deadline > now }
            }
            return late
        }
    }
}

extension [Job] {
    /// Whether one of them asks to survive a loss of power.
    package var includePowerLoss: Bool { contains { $0.durability == .powerLoss } }

    /// Whether each of them asks to survive a loss of power.
    package var areForPowerLoss: Bool { allSatisfy { $0.durability == .powerLoss } }

    /// Takes out the first ones, `count` at most.
    fileprivate mutating func removeFirst(upTo count: Int) -> [Job] {
        if count >= self.count {
            defer { self = [] }
            return self
        }
        defer { removeFirst(count) }
        return Array(self[..<count])
    }
}
