import GRDB
import PenstockCore
import PenstockProcesses

/// Carries out jobs in transactions, on the writer's thread.
///
/// At each point a crash leaves the file as after the last COMMIT: before it, no caller has been answered; after it,
/// each answer is true, and a ring that was not given is made good by the looks that waiters take by themselves. A power
/// cut leaves it as after some COMMIT, and not before the last one that was flushed; callers that asked for that are
/// answered then.
///
/// An application's own writer queue is entered only for a transaction or a look, never for a wait.
final class TransactionRunner {
    private let line: JobLine
    private let access: DatabaseAccess
    private let time: any TimeSource
    private let random: any RandomSource
    private let policies = PolicyCache()
    private lazy var writerAccess = WriterAccess(access, line, random: random) { [unowned self] slot, ticket in
        try withConnection { try Answers.read(slot: slot, ticket: ticket, $0) }
    }
    private var connection: Connection?
    /// Whether the next jobs may be carried out by another process.
    private var maySend = true

    init(_ line: JobLine, access: DatabaseAccess, time: any TimeSource, random: any RandomSource) {
        self.line = line
        self.access = access
        self.time = time
        self.random = random
    }

    /// What came of some jobs.
    struct Outcome {
        /// Jobs that are committed, and not answered yet.
        var committed: [any Job] = []
        /// Jobs that came to nothing, and why.
        var failed: [(job: any Job, error: any Error)] = []
        /// What to ring for, for each commit.
        var rung: [Rung] = []
        /// Jobs that are committed, and on the disk where that was asked for, and not answered yet.
        var flushed: [any Job] = []
        /// Requests of other processes that are committed, and whose processes do not know it yet.
        var requests: [RemoteRequest] = []
    }

    /// Carries out the jobs that are in the line when this process may write. Those that a look answers are answered.
    func run() -> Outcome {
        withConnection { connection in line.look { glanced($0, connection) } }
        if line.count == 0 { return Outcome() }
        let entry = writerAccess.enter(maySend: maySend)
        maySend = true
        switch entry {
        case .nothingLeft: return Outcome()
        case .answered(let answered): return accept(answered)
        case .acquired: break
        }
        defer { writerAccess.leave() }
        while true {
            if let outcome = runOnce() { return outcome }
            // Another program, which knows nothing of the writer lock, has the file.
            if !writerAccess.answerLate() { return Outcome() }
            Patience.pause()
        }
    }

    /// What was committed for other processes is on the disk where that was asked for.
    func finish(_ requests: [RemoteRequest]) {
        for request in requests { access.writerLock.slots?.finish(request.taken, answer: request.answer) }
    }

    /// Lets go of the prepared statements, which must not outlive the connection.
    func end() {
        access.pool.unsafeReentrantWrite { _ in connection = nil }
        access.close()
    }

    /// What another process has done of the jobs that come first in the line.
    private func accept(_ answered: WriterAccess.Answered) -> Outcome {
        let receipts = answered.answer.receipts
        let jobs = line.takeFirst(receipts.count)
        for (job, receipts) in zip(jobs, receipts) { job.accept(receipts) }
        // What was refused there has its answer from its own process.
        maySend = !answered.isPartial
        guard !answered.isFlushed, let failure = access.flusher?.flushed() else { return Outcome(flushed: jobs) }
        return Outcome(
            failed: jobs.filter(\.awaitsFlush).map { ($0, failure) }, flushed: jobs.filter { !$0.awaitsFlush })
    }

    // MARK: Transactions

    /// Carries out what is in the line in one transaction or, when that fails, each job in one of its own.
    ///
    /// - Returns: `nil` when another program has the file.
    private func runOnce() -> Outcome? {
        var jobs: [any Job] = []
        var refused: [(job: any Job, error: any Error)] = []
        do {
            let wanted: Durability = line.wants(.powerLoss) ? .powerLoss : .processCrash
            let committed = try transact(wanted, takesRequests: true) {
                (jobs, refused) = refusing(line.take())
                return jobs
            }
            guard let committed else { return nil }
            return Outcome(
                committed: jobs, failed: refused, rung: [committed.rung], requests: committed.requests)
        } catch let error as NotBegun {
            let error = translated(error.cause)
            return Outcome(failed: line.take().map { ($0, error) })
        } catch let error as Failed where jobs.count == 1 && !error.hadRequests {
            return Outcome(failed: refused + [(jobs[0], translated(error.cause))])
        } catch {
            // One of them did not go through, or another process's. Alone, each has the answer that is its own.
            var outcome = runOneByOne(jobs)
            outcome.failed += refused
            return outcome
        }
    }

    private func runOneByOne(_ jobs: [any Job]) -> Outcome {
        var outcome = Outcome()
        for (index, job) in jobs.enumerated() {
            do {
                var committed: Committed?
                repeat {
                    committed = try transact(job.durability ?? .processCrash, takesRequests: false) { [job] }
                    if committed == nil {
                        if job.deadline <= .now { throw NotBegun(cause: WriterAccess.busy(access.busyMax)) }
                        Patience.pause()
                    }
                } while committed == nil
                if let committed { outcome.rung.append(committed.rung) }
                outcome.committed.append(job)
            } catch let error as NotBegun {
                // What keeps this one out keeps out the others: they need not wait as long again, each in its turn.
                let error = translated(error.cause)
                outcome.failed += jobs[index...].map { ($0, error) }
                break
            } catch {
                outcome.failed.append((job, translated((error as? Failed)?.cause ?? error)))
            }
        }
        return outcome
    }

    /// Parts the jobs from those that cannot be what they ask to be, durable, as the disk has failed.
    private func refusing(_ jobs: [any Job]) -> ([any Job], [(job: any Job, error: any Error)]) {
        guard let refusal = access.flusher?.refusal else { return (jobs, []) }
        return (
            jobs.filter { $0.durability != .powerLoss },
            jobs.filter { $0.durability == .powerLoss }.map { ($0, refusal) }
        )
    }

    private struct Committed {
        var rung: Rung
        var requests: [RemoteRequest]
    }

    /// Runs jobs in one transaction, and before them what other processes have asked for.
    ///
    /// - Parameter jobs: gives them once the transaction has begun.
    /// - Returns: `nil` when another program has the file; nothing was done then.
    /// - Throws: ``NotBegun`` when it did not come to the first job, and ``Failed``.
    private func transact(
        _ wanted: Durability, takesRequests: Bool, _ jobs: () -> [any Job]
    ) throws -> Committed? {
        do {
            return try access.pool.unsafeReentrantWrite { database in
                let connection = connection(to: database)
                return try access.withDurability(wanted, database) {
                    guard try begin(connection) else { return nil }
                    return try perform(jobs(), takesRequests: takesRequests, connection)
                }
            }
        } catch let error as Failed {
            throw error
        } catch {
            throw NotBegun(cause: error)
        }
    }

    private func perform(_ jobs: [any Job], takesRequests: Bool, _ connection: Connection) throws -> Committed {
        var requests: [RemoteRequest] = []
        do {
            let transaction = try Transaction(
                connection, path: access.path, time: time, random: random, policies: policies)
            if takesRequests {
                requests = RemoteRequest.taken(access, besides: writerAccess.ownSlot, at: transaction.now)
            }
            for index in requests.indices { try requests[index].perform(in: transaction) }
            for job in jobs { try job.perform(in: transaction) }
            try transaction.writeDown()
            try connection.execute(Self.commit)
            transaction.committed()
            return Committed(rung: transaction.rung, requests: requests)
        } catch {
            let error = undone(error, connection)
            access.writerLock.slots?.giveBack(requests.map(\.taken))
            throw Failed(cause: error, hadRequests: !requests.isEmpty)
        }
    }

    /// Begins a transaction; false when another program has the file. That is not waited for here, within a queue of
    /// the application's.
    private func begin(_ connection: Connection) throws -> Bool {
        do {
            try access.withoutBusyWait(connection.database) { try connection.execute(Self.begin) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return false
        }
        // What would be written to a file that has lost its name is gone with this process.
        do {
            try access.identity.requireStill(at: access.path)
        } catch {
            throw undone(error, connection)
        }
        return true
    }

    /// Rolls back, and gives `error` on. SQLite has rolled back by itself after some errors.
    private func undone(_ error: any Error, _ connection: Connection) -> any Error {
        policies.forget()
        if connection.database.isInsideTransaction {
            do {
                try connection.execute(Self.rollback)
            } catch {
                return error
            }
        }
        return error
    }

    // MARK: The connection

    private func withConnection<T>(_ body: (Connection) throws -> T) rethrows -> T {
        try access.pool.unsafeReentrantWrite { database in try body(connection(to: database)) }
    }

    private func connection(to database: Database) -> Connection {
        if let connection { return connection }
        let new = Connection(database, isPassing: false)
        connection = new
        return new
    }

    private func glanced(_ job: any Job, _ connection: Connection) -> Bool {
        do {
            return try job.glance(connection, now: time.now)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            // Another process puts the log in order; the transaction waits for that.
            return false
        } catch {
            job.finish(translated(error))
            return true
        }
    }

    private func translated(_ error: any Error) -> any Error {
        StorageErrors.translated(error, path: access.path)
    }

    private static let begin = Query("BEGIN IMMEDIATE")
    private static let commit = Query("COMMIT")
    private static let rollback = Query("ROLLBACK")
}

/// Why a transaction did not come to its first job.
private struct NotBegun: Error {
    let cause: any Error
}

/// Why a transaction was undone after its first job had begun.
private struct Failed: Error {
    let cause: any Error
    /// Whether requests of other processes were in it.
    let hadRequests: Bool
}
