import Foundation
import GRDB
import PenstockCore
import PenstockProcesses
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
    ///
    /// - Throws: when the system makes no thread.
    init(
        access: DatabaseAccess, time: any TimeSource, random: any RandomSource, committed: @escaping Committed
    ) throws {
        core = Core(access: access, time: time, random: random, committed: committed)
        try SystemThread.start("penstock writer") { [core] in core.run() }
    }

    /// What to do after a commit: ring for these queues.
    typealias Committed = @Sendable (Rung) -> Void

    /// A store that is let go without a close finishes what was asked of it and lets go of the file.
    deinit {
        _ = core.line.stop()
    }

    /// Runs `body` in a transaction, with other callers' work before and after it.
    ///
    /// - Parameters:
    ///   - durability: what the commit must survive; `nil` when the work may be lost with power.
    ///   - weight: about how many rows the work touches, so that transactions stay short.
    ///   - glance: looks whether there is anything to do, outside of a transaction, and gives the answer if not.
    ///   - remoteCall: the same call, for another process to carry out.
    ///   - waitMax: how long to wait for the right to write; `nil`: as long as the store's options say.
    ///   - body: throws ``PenstockError`` only before its first write.
    func perform<T: Sendable>(
        durability: Durability? = nil,
        weight: Int = 1,
        glance: (@Sendable (Connection, Timestamp) throws -> T?)? = nil,
        remoteCall: RemoteCall? = nil,
        waitMax: Duration? = nil,
        _ body: @escaping @Sendable (Transaction) throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let job = PendingJob(
                durability: durability, weight: weight, glance: glance, deadline: core.deadline(in: waitMax),
                remoteCall: remoteCall, body: body, continuation: continuation)
            if !core.line.submit(job) { continuation.resume(throwing: Self.closed) }
        }
    }

    /// Finishes what was asked for, then `last`, ends the thread, and returns when it is through. No call comes after
    /// `last`, which is not done when the writer was closed before.
    ///
    /// - Parameter glance: says, outside of a transaction, that there is nothing for `last` to do. Then the close waits
    ///   for no other process, unless calls came before it that have to.
    /// - Throws: what `last` threw. The writer is closed all the same.
    func close(
        unless glance: @escaping @Sendable (Connection) throws -> Bool,
        waitMax: Duration? = nil, _ last: @escaping @Sendable (Transaction) throws -> Void
    ) async throws {
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await withCheckedThrowingContinuation { continuation in
                    let job = PendingJob(
                        durability: nil, weight: 1, glance: { connection, _ in try glance(connection) ? () : nil },
                        deadline: core.deadline(in: waitMax), remoteCall: nil, body: last, continuation: continuation)
                    if !core.line.stop(after: job) { continuation.resume() }
                })
        } catch {
            result = .failure(error)
        }
        await core.end.waitThoughCancelled()
        try result.get()
    }

    /// Finishes what was asked for, ends the thread, and returns when it is through.
    func close() async {
        _ = core.line.stop()
        await core.end.waitThoughCancelled()
    }

    /// Throws `closed` once the writer was told to end.
    func refuseClosed() throws {
        if core.line.isStopping { throw Self.closed }
    }

    /// How many calls wait for the next transaction. For tests, which go on when they are all there.
    var waitingCount: Int { core.line.count }

    private static var closed: PenstockError { PenstockError(.closed, "The store is closed; open it again.") }
}

/// What the thread and the callers share.
private final class Core: Sendable {
    let line = JobLine()
    let end = Latch()
    private let access: DatabaseAccess
    private let time: any TimeSource
    private let random: any RandomSource
    private let committed: GroupWriter.Committed

    /// Until when a call that comes now waits.
    func deadline(in waitMax: Duration?) -> ContinuousClock.Instant { .now + (waitMax ?? access.busyMax) }

    init(
        access: DatabaseAccess, time: any TimeSource, random: any RandomSource,
        committed: @escaping GroupWriter.Committed
    ) {
        self.access = access
        self.time = time
        self.random = random
        self.committed = committed
    }

    /// The thread.
    func run() {
        let runner = TransactionRunner(line, access: access, time: time, random: random)
        while line.wait() {
            answer(runner.run(), runner)
        }
        access.flusher?.end()
        runner.end()
        end.open()
    }

    /// Rings and answers. Callers that wait for the disk are answered here when no call waits for the next transaction, which
    /// spares a lone caller the way to another thread.
    private func answer(_ outcome: TransactionRunner.Outcome, _ runner: TransactionRunner) {
        for rung in outcome.rung { committed(rung) }
        for (job, error) in outcome.failed { job.finish(error) }
        for job in outcome.flushed { job.finish(nil) }
        guard let flusher = access.flusher else {
            for job in outcome.committed { job.finish(nil) }
            return
        }
        var unflushed: [any Job] = []
        for job in outcome.committed {
            if job.awaitsFlush { unflushed.append(job) } else { job.finish(nil) }
        }
        let requests = outcome.requests.filter(\.awaitsFlush)
        runner.finish(outcome.requests.filter { !$0.awaitsFlush })
        if !requests.isEmpty {
            // Their processes sleep until this, so it is not put off for the next transaction. When it fails they find out
            // by themselves.
            if flusher.flush(for: unflushed) { runner.finish(requests) }
        } else if unflushed.isEmpty {
            return
        } else if line.count == 0 {
            flusher.flush(for: unflushed)
        } else {
            flusher.flushSoon(for: unflushed)
        }
    }
}
