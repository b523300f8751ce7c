import GRDB
import PenstockCore
import PenstockProcesses
import PenstockSQL

/// Carries out jobs in transactions and answers them, on the writer's thread.
///
/// At each point a crash leaves the file as after the last COMMIT: before it, no caller has been answered; after it,
/// each answer is true, and a ring that was not given is made good by the looks that waiters take by themselves. A power
/// cut leaves it as after some COMMIT, and not before the last one that was flushed; callers that asked for that are
/// answered then.
///
/// An application's own writer queue is entered only for a transaction or a read-only check, never for a wait.
final class TransactionRunner {
    private let writer: GroupWriter
    private let access: DatabaseAccess
    private let time: any TimeSource
    private let random: any RandomSource
    private let doorbell: Doorbell
    private let policies = PolicyCache()
    private lazy var writerAccess = WriterAccess(access.writerLock, writer, engine)
    private var engine: WriterAccess.Engine {
        let read = { [unowned self, answers] (request: WriterAccess.Request) in
            try withConnection { try answers.read(slot: request.slot, ticket: request.ticket, $0) }
        }
        return WriterAccess.Engine(
            busyMax: access.busyMax, sharesTransactions: access.sharesTransactions,
            timings: access.timings, requireStill: access.requireStill, readAnswer: read,
            // The process that has the lock sees all that was carried out, and no other carries out anything.
            decideAnswer: read)
    }
    private let answers: Answers
    private var connection: SQLiteConnection?

    init(
        _ writer: GroupWriter, access: DatabaseAccess, time: any TimeSource, random: any RandomSource,
        doorbell: Doorbell
    ) {
        self.writer = writer
        self.access = access
        self.time = time
        self.random = random
        self.doorbell = doorbell
        answers = Answers(of: access.writerLock.slots)
    }

    /// What came of some jobs.
    private struct Outcome {
        /// Jobs that are committed, and not answered yet.
        var committed: [Job] = []
        /// Jobs that came to nothing, and why.
        var failed: [(job: Job, error: any Error)] = []
        /// What to ring for.
        var rings: [(bucket: Int, ring: Ring)] = []
        /// Jobs that are committed, and on the disk where that was asked for, and not answered yet.
        var flushed: [Job] = []
        /// Requests of other processes that are committed, and whose processes do not know it yet.
        var requests: [PostedRequest] = []
    }

    /// The thread: carries out what is asked for, until there will be nothing more.
    func run() {
        while writer.wait() { answer(carryOut()) }
        access.flusher?.end()
        access.pool.unsafeReentrantWrite { database in
            // Prepared statements must not outlive the connection.
            connection = nil
            // What lies at their names now is other programs', or may be: SQLite would write its own log into their file, and remove theirs.
            let isStill = (try? access.requireFile()) != nil && FileIdentity.status(of: access.path) != nil
            if !isStill { OpenFile.leaveWriteAheadLog(database, true) }
        }
        if access.flusher == nil { return }
        // The last connection puts the write-ahead log away, which one that only reads cannot. GRDB closes the writer's first.
        access.pool.invalidateReadOnlyConnections()
        // What cannot be closed now is closed when the process ends.
        try? access.pool.close()
    }

    /// Carries out the jobs that are in the line when this process may write. Those that a read-only check answers are
    /// answered.
    private func carryOut() -> Outcome {
        let hasJobs = writer.look { jobs in
            withConnection { connection in jobs.filter { !isAnswered($0, connection) } }
        }
        if !hasJobs { return Outcome() }
        switch writerAccess.enter() {
        case .nothingLeft: return Outcome()
        case .answered(let receipts, _, let isFlushed): return accept(receipts, isFlushed: isFlushed)
        case .acquired: break
        }
        defer { writerAccess.leave() }
        while true {
            if let outcome = runTogether() { return outcome }
            // Another program, which knows nothing of the writer lock, has the file.
            if !writerAccess.answerLate() { return Outcome() }
            WriterLock.pause()
        }
    }

    private func isAnswered(_ job: Job, _ connection: SQLiteConnection) -> Bool {
        do {
            return try job.check(connection, policies, now: time.now)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            // Another process puts the write-ahead log in order; the transaction waits for that.
            return false
        } catch {
            job.finish(access.translated(error))
            return true
        }
    }

    /// Another process has carried out the jobs that come first in the line.
    private func accept(_ receipts: [[Receipt]], isFlushed: Bool) -> Outcome {
        let jobs = writer.accept(receipts)
        guard !isFlushed, let failure = access.flusher?.flushed() else { return Outcome(flushed: jobs) }
        return Outcome(
            failed: jobs.filter(\.awaitsFlush).map { ($0, failure) }, flushed: jobs.filter { !$0.awaitsFlush })
    }

    /// Rings and answers. Callers that wait for the disk are answered here when no call waits for the next transaction, which
    /// spares a lone caller the way to another thread.
    private func answer(_ outcome: Outcome) {
        doorbell.ring(outcome.rings)
        for (job, error) in outcome.failed { job.finish(error) }
        for job in outcome.flushed { job.finish(nil) }
        var unflushed: [Job] = []
        var isWaitedFor = false
        for job in outcome.committed {
            if access.flusher != nil, job.awaitsFlush {
                if !job.answerUnflushed() { isWaitedFor = true }
                unflushed.append(job)
            } else {
                job.finish(nil)
            }
        }
        let unflushedRequests = outcome.requests.filter(\.awaitsFlush)
        finish(outcome.requests.filter { !$0.awaitsFlush })
        guard let flusher = access.flusher, !unflushed.isEmpty || !unflushedRequests.isEmpty else { return }
        if unflushedRequests.isEmpty, writer.count > 0 || !isWaitedFor { return flusher.flushSoon(for: unflushed) }
        // Processes that sleep until this are not put off for the next transaction. When it fails they find out by
        // themselves.
        if flusher.flush(for: unflushed) { finish(unflushedRequests) }
    }

    /// What was committed for other processes is on the disk where that was asked for.
    private func finish(_ requests: [PostedRequest]) {
        for request in requests { access.writerLock.slots?.finish(request.taken, answer: request.answer) }
    }

    // MARK: Transactions

    /// Carries out what is in the line in one transaction or, when that fails, each job in one of its own.
    ///
    /// - Returns: `nil` when another program has the file.
    private func runTogether() -> Outcome? {
        var jobs: [Job] = []
        var refused: [(job: Job, error: any Error)] = []
        do throws(Failure) {
            let commitFlushes = access.flusher == nil && writer.wantsPowerLoss
            var outcome = try transact(commitFlushes: commitFlushes, takesRequests: true) {
                jobs = writer.take()
                // Nothing can become durable any more once the disk has failed.
                if let refusal = access.flusher?.refusal {
                    refused = jobs.filter { $0.durability == .powerLoss }.map { ($0, refusal) }
                    jobs.removeAll { $0.durability == .powerLoss }
                }
                return jobs
            }
            outcome?.failed = refused
            return outcome
        } catch {
            if !error.hadJobs { return Outcome(failed: writer.take().map { ($0, access.translated(error.cause)) }) }
            if jobs.count == 1, !error.hadRequests {
                return Outcome(failed: refused + [(jobs[0], access.translated(error.cause))])
            }
            // One of them did not go through, or another process's. Alone, each has the answer that is its own.
            var outcome = runOneByOne(jobs)
            outcome.failed += refused
            return outcome
        }
    }

    private func runOneByOne(_ jobs: [Job]) -> Outcome {
        var outcome = Outcome()
        for (index, job) in jobs.enumerated() {
            let commitFlushes = access.flusher == nil && job.durability == .powerLoss
            do throws(Failure) {
                while true {
                    if let one = try transact(commitFlushes: commitFlushes, takesRequests: false, { [job] }) {
                        outcome.rings += one.rings
                        outcome.committed += one.committed
                        break
                    }
                    if job.deadline <= .now { throw Failure(cause: WriterAccess.busy(access.busyMax)) }
                    WriterLock.pause()
                }
            } catch {
                let cause = access.translated(error.cause)
                // What keeps this one out keeps out the others: they need not wait as long again, each in its turn.
                let failed = error.hadJobs ? jobs[index...index] : jobs[index...]
                outcome.failed += failed.map { ($0, cause) }
                if !error.hadJobs { break }
            }
        }
        return outcome
    }

    /// Why a transaction came to nothing.
    private struct Failure: Error {
        let cause: any Error
        /// Whether it had come to the jobs, which are undone.
        var hadJobs = false
        /// Whether requests of other processes were in it.
        var hadRequests = false
    }

    /// Runs jobs in one transaction, and before them what other processes have asked for.
    ///
    /// - Parameters:
    ///   - commitFlushes: whether the COMMIT puts on the disk what it writes.
    ///   - jobs: gives them once the transaction has begun.
    /// - Returns: `nil` when another program has the file; nothing was done then.
    private func transact(
        commitFlushes: Bool, takesRequests: Bool, _ jobs: () -> [Job]
    ) throws(Failure) -> Outcome? {
        var hadJobs = false
        var requests: [PostedRequest] = []
        do {
            return try withConnection { connection in
                // In the store's own file the flusher does so after the COMMIT.
                let level = commitFlushes ? try FlushLevel.raise(connection.database) : nil
                defer { if let level { try? level.set(connection.database) } }
                guard try access.begin(connection) else { return nil }
                do {
                    // What would be written to a file that has lost its name is gone with this process.
                    try access.requireStill()
                    let jobs = jobs()
                    hadJobs = true
                    let transaction = try Transaction(
                        connection, path: access.path, time: time, random: random, policies: policies)
                    // Nothing is called durable once the disk has failed.
                    if takesRequests, access.sharesTransactions, access.flusher?.refusal == nil,
                        let slots = access.writerLock.slots
                    {
                        requests = PostedRequest.taken(from: slots, besides: writerAccess.ownSlot, at: transaction.now)
                    }
                    try jobs.perform(with: &requests, answers, in: transaction)
                    try connection.commit()
                    transaction.committed()
                    return Outcome(committed: jobs, rings: transaction.rings, requests: requests)
                } catch {
                    policies.forget()
                    // SQLite has rolled back by itself after some errors.
                    if connection.database.isInsideTransaction { try? connection.execute(DatabaseAccess.rollback) }
                    throw error
                }
            }
        } catch {
            access.writerLock.slots?.giveBack(requests.map(\.taken))
            throw Failure(cause: error, hadJobs: hadJobs, hadRequests: !requests.isEmpty)
        }
    }

    private func withConnection<T>(_ body: (SQLiteConnection) throws -> T) rethrows -> T {
        try access.pool.unsafeReentrantWrite { database in
            let connection = self.connection ?? SQLiteConnection(database, isPassing: false)
            self.connection = connection
            return try body(connection)
        }
    }
}
