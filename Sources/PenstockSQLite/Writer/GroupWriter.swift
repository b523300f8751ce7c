import Foundation
import GRDB
import PenstockCore
import Synchronization

/// The one writer of a store: a thread that takes everything that callers have asked for meanwhile into one
/// transaction, and answers each of them after its COMMIT.
///
/// While a transaction runs, and above all while the disk is flushed, calls gather; they all go into the next one. So
/// one flush serves many callers, nobody waits for a turn among callers of this process, and nobody sees a lock.
///
/// A call that fails by itself (a full queue, a lost lease) has changed nothing and stops no other. When the storage
/// fails, the transaction is rolled back and its calls are carried out again one by one, so that each has its own
/// answer.
final class GroupWriter: Sendable {
    private let core: Core

    /// Starts the thread.
    init(access: DatabaseAccess, time: any TimeSource, random: any RandomSource, committed: @escaping Committed) {
        core = Core(access: access, time: time, random: random, committed: committed)
        let thread = Thread { [core] in core.run() }
        thread.name = "penstock writer"
        thread.start()
    }

    /// What to do after a commit: ring for these queues.
    typealias Committed = @Sendable (Rung) -> Void

    /// A store that is let go without a close finishes what was asked of it and lets go of the file.
    deinit {
        _ = core.stop()
    }

    /// Runs `body` in a transaction, with other callers' work before and after it.
    ///
    /// - Parameters:
    ///   - durability: what the commit must survive; `nil` when the work may be lost with power.
    ///   - weight: about how many rows the work touches, so that transactions stay short.
    ///   - glance: looks whether there is anything to do, outside of a transaction, and gives the answer if not.
    ///   - body: throws ``PenstockError`` only before its first write.
    func perform<T: Sendable>(
        durability: Durability? = nil,
        weight: Int = 1,
        glance: (@Sendable (Connection, Timestamp) throws -> T?)? = nil,
        _ body: @escaping @Sendable (Transaction) throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let job = PendingJob(
                durability: durability, weight: weight, glance: glance, body: body, continuation: continuation)
            if !core.submit(job) { continuation.resume(throwing: Self.closed) }
        }
    }

    /// Finishes what was asked for, then `last`, ends the thread, and returns when it is through. No call comes after
    /// `last`, which is not done when the writer was closed before.
    ///
    /// - Throws: what `last` threw. The writer is closed all the same.
    func close(_ last: @escaping @Sendable (Transaction) throws -> Void) async throws {
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await withCheckedThrowingContinuation { continuation in
                    let job = PendingJob(
                        durability: nil, weight: 1, glance: nil, body: last, continuation: continuation)
                    if !core.stop(after: job) { continuation.resume() }
                })
        } catch {
            result = .failure(error)
        }
        await core.end.wait()
        try result.get()
    }

    /// Finishes what was asked for, ends the thread, and returns when it is through.
    func close() async {
        _ = core.stop()
        await core.end.wait()
    }

    /// Throws `closed` once the writer was told to end.
    func refuseClosed() throws {
        if core.isStopping { throw Self.closed }
    }

    /// How many calls wait for the next transaction. For tests, which go on when they are all there.
    var waitingCount: Int { core.waitingCount }

    private static var closed: PenstockError { PenstockError(.closed, "The store is closed; open it again.") }
}

/// What the thread and the callers share.
private final class Core: Sendable {
    private struct State {
        var jobs: [any Job] = []
        var isAsleep = false
        var isStopping = false
    }

    /// Rows in one transaction, about: a transaction of this size takes some 50 ms.
    private static let weightMax = 10_000

    let end = ThreadEnd()
    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)
    private let access: DatabaseAccess
    private let time: any TimeSource
    private let random: any RandomSource
    private let committed: GroupWriter.Committed

    init(
        access: DatabaseAccess, time: any TimeSource, random: any RandomSource,
        committed: @escaping GroupWriter.Committed
    ) {
        self.access = access
        self.time = time
        self.random = random
        self.committed = committed
    }

    func submit(_ job: any Job) -> Bool {
        let (accepted, mustWake) = state.withLock { state -> (Bool, Bool) in
            if state.isStopping { return (false, false) }
            state.jobs.append(job)
            defer { state.isAsleep = false }
            return (true, state.isAsleep)
        }
        if mustWake { bell.signal() }
        return accepted
    }

    var isStopping: Bool {
        state.withLock { $0.isStopping }
    }

    var waitingCount: Int {
        state.withLock { $0.jobs.count }
    }

    /// Takes no more jobs but `last`.
    ///
    /// - Returns: whether nobody has stopped it before; `last` was not taken otherwise.
    func stop(after last: (any Job)? = nil) -> Bool {
        let (isFirst, mustWake) = state.withLock { state -> (Bool, Bool) in
            if state.isStopping { return (false, false) }
            state.isStopping = true
            if let last { state.jobs.append(last) }
            defer { state.isAsleep = false }
            return (true, state.isAsleep)
        }
        if mustWake { bell.signal() }
        return isFirst
    }

    /// The thread.
    func run() {
        let runner = TransactionRunner(access: access, time: time, random: random)
        while let jobs = take() {
            let unflushed = runner.run(jobs, committed: committed)
            if !unflushed.isEmpty { flush(for: unflushed) }
        }
        access.turnstile.letGo()
        access.flusher?.end()
        runner.end()
        end.come()
    }

    /// Has `jobs`, which are committed, flushed and answered: here when nobody waits for the next transaction, which
    /// spares a lone caller the way to another thread.
    private func flush(for jobs: [any Job]) {
        guard let flusher = access.flusher else { return }
        if state.withLock({ $0.jobs.isEmpty }) {
            access.turnstile.letGo()
            flusher.flush(for: jobs)
        } else {
            flusher.flushSoon(for: jobs)
        }
    }

    /// The jobs of the next transaction; sleeps until there are some, and gives `nil` when there will be none.
    private func take() -> [any Job]? {
        while true {
            let (jobs, mustEnd) = state.withLock { state -> ([any Job], Bool) in
                var weight = 0
                var count = 0
                while count < state.jobs.count, count == 0 || weight + state.jobs[count].weight <= Self.weightMax {
                    weight += state.jobs[count].weight
                    count += 1
                }
                if count == 0 {
                    state.isAsleep = !state.isStopping
                    return ([], state.isStopping)
                }
                if count == state.jobs.count {
                    defer { state.jobs = [] }
                    return (state.jobs, false)
                }
                defer { state.jobs.removeFirst(count) }
                return (Array(state.jobs[..<count]), false)
            }
            if !jobs.isEmpty { return jobs }
            if mustEnd { return nil }
            let turnstile = access.turnstile
            if turnstile.mayLinger() {
                // Whoever was just answered may have more. If not, others have waited long enough.
                if bell.wait(timeout: .now() + .microseconds(Turnstile.lingerMicroseconds)) == .timedOut {
                    turnstile.letGo()
                }
            } else {
                bell.wait()
            }
        }
    }
}
