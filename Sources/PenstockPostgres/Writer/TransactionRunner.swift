import PenstockCore
import PenstockProcesses
import PenstockSQL

/// Carries out jobs in transactions and answers them, on the writer's thread.
///
/// All writers of a schema go one after the other, by an advisory lock that ends with the transaction: so sequence numbers are
/// given in the order in which they become visible, and a reader of the log misses none. The lock is not kept over a flush: a
/// transaction commits without one, and then ``FlushLine`` waits for the disk.
///
/// When the answer to a COMMIT is lost, the next connection says whether it took effect (``CommitMark``), on the same server or on one
/// that was promoted: then the callers have their answers, and otherwise the jobs are carried out again.
final class TransactionRunner {
    private let writer: GroupWriter
    private let sessions: Sessions
    private let time: any TimeSource
    private let random: any RandomSource
    private let timings: WriteTimings
    private let bell: ServerBell
    private let stalls: Stalls
    private let flushes: FlushLine
    private let policies = PolicyCache()
    private var backoff: Backoff
    private var session: WriterSession?
    /// The rows of lost connections of this process in `penstock_writer`.
    private var lostRows: [Int64] = []
    /// The number of the last transaction that was begun.
    private var number: Int64 = 0
    /// Numbers of rows: two processes of one seed must not have one row.
    private let numbers = SystemRandom()

    init(
        _ writer: GroupWriter, sessions: Sessions, time: any TimeSource, random: any RandomSource,
        timings: WriteTimings,
        bell: ServerBell, stalls: Stalls
    ) {
        self.writer = writer
        self.sessions = sessions
        self.time = time
        self.random = random
        self.timings = timings
        self.bell = bell
        self.stalls = stalls
        flushes = FlushLine(sessions, random: numbers, timings: timings)
        backoff = Backoff(random: numbers)
    }

    /// The thread: carries out what is asked for, until there will be nothing more.
    func run() {
        while writer.wait() { carryOut() }
        flushes.close()
        if let session, !session.server.isLost {
            session.server.deadline = .now + .seconds(2)
            for row in lostRows + [session.row] { try? CommitMark.remove(row, session.connection) }
        }
        session = nil
    }

    /// Carries out the jobs that are in the line. Those that a read-only check answers are answered.
    private func carryOut() {
        while let jobs = writer.takeCheckable() {
            // Nobody looks where there is no connection: the transaction connects, and waits for that.
            if session == nil { _ = try? connected(until: .now) }
            let left = jobs.isEmpty || hasSaidVerdicts ? jobs : jobs.filter { !isAnswered($0) }
            writer.putBack(left)
            if !left.isEmpty { break }
            // A caller that has its answer may have asked for the next thing by now, which a look may answer as well.
            if writer.count == 0 { return }
        }
        let jobs = writer.take()
        if jobs.isEmpty { return }
        do {
            try together(jobs)
        } catch {
            if jobs.count == 1 { return jobs[0].finish(translated(error)) }
            // One of them did not go through. Alone, each has the answer that is its own.
            var cause = error
            for job in jobs {
                // Where it was the server, those whose time is over have waited for it together.
                if job.deadline <= .now, (cause as? ServerError)?.isInTheWay == true {
                    job.finish(translated(cause))
                    continue
                }
                do {
                    try together([job])
                } catch {
                    cause = error
                    job.finish(translated(error))
                }
            }
        }
    }

    /// Whether a look would see what is not carried out yet.
    private var hasSaidVerdicts: Bool {
        guard let session else { return false }
        session.server.deadline = .now + WriterSession.workMax
        defer { if session.server.isLost { disconnect() } }
        return (try? SaidVerdicts.areOpen(session.connection)) ?? false
    }

    private func isAnswered(_ job: any Job) -> Bool {
        guard let session else { return false }
        let start = ContinuousClock.now
        defer { stalls.note(since: start) }
        do {
            session.server.deadline = job.deadline + WriterSession.grace
            return try job.check(session.connection, now: time.now)
        } catch let error as ServerError where error.isLost || error.mayBeTriedAgain {
            if error.isLost { disconnect() }
            return false
        } catch {
            job.finish(translated(error))
            return true
        }
    }

    private func translated(_ error: any Error) -> any Error { ServerFailures.translated(error, sessions.address) }

    // MARK: Transactions

    /// Carries out jobs in one transaction, however often the server goes away meanwhile, until their deadline.
    private func together(_ jobs: [any Job]) throws {
        let deadline = jobs.map(\.deadline).min() ?? .now
        number += 1
        var guardsAttempts = false
        while true {
            do {
                guard let lost = try transact(jobs, until: deadline, guardsAttempts) else { return backoff.reset() }
                disconnect()
                guard let isCommitted = outcome(of: lost.mark, until: deadline) else {
                    return jobs.forEach { $0.finish(ServerFailures.unknown(sessions.address, lost.cause)) }
                }
                if isCommitted { return committed(jobs, lost.transaction, lost.mark) }
            } catch let error as PostgresConnection.Contradicted {
                if guardsAttempts { throw error.cause }
                guardsAttempts = true
            } catch let error as ServerError where error.isContradiction && !guardsAttempts {
                // What was sent ahead was told of when the attempt was over.
                guardsAttempts = true
            } catch let error as ServerError where error.isLost || error.mayBeTriedAgain {
                if error.isLost { disconnect() }
                guard ContinuousClock.now < deadline else { throw error }
                backoff.wait(until: deadline)
            }
        }
    }

    /// A COMMIT without an answer.
    private struct LostCommit {
        let cause: any Error
        let mark: CommitMark
        let transaction: Transaction
    }

    /// - Returns: what is to be asked for when the COMMIT has no answer; `nil`: the jobs have theirs.
    private func transact(
        _ jobs: [any Job], until deadline: ContinuousClock.Instant, _ guardsAttempts: Bool
    ) throws -> LostCommit? {
        var session = try connected(until: deadline)
        let server = session.server
        let (mark, oldRow) = session.nextMark(number, rows: numbers)
        let transaction: Transaction
        do {
            session.connection.guardsAttempts = guardsAttempts
            session.connection.sendsAhead = !guardsAttempts
            defer { session.connection.sendsAhead = false }
            try session.begin(until: deadline, sessions, timings, stalls) { connection in
                try SaidVerdicts.prefetch(connection)
                try Transaction.prefetch(policies, connection)
                for job in jobs { try job.prefetch(connection, policies) }
            }
            transaction = try Transaction(
                session.connection, path: sessions.address.description, time: time, random: random, policies: policies)
            transaction.settledBefore = { [connection = session.connection] lease, isLast in
                try SaidVerdicts.result(of: lease, connection, isLast: isLast)
            }
            if try SaidVerdicts.areOpen(session.connection) {
                try SaidVerdicts.carryOut(session.connection, in: transaction)
            }
            try jobs.perform(in: transaction)
            try Cascade.writeDown(in: transaction)
            try transaction.writeDown()
            try mark.write(session.connection)
            if let oldRow { try CommitMark.remove(oldRow, session.connection) }
            server.deadline = max(deadline, .now + WriterSession.workMax) + WriterSession.grace
        } catch {
            undo(server)
            throw error
        }
        do {
            try server.commit()
        } catch {
            undo(server)
            // Only a connection that is lost leaves it open.
            guard (error as? ServerError)?.isLost == true else { throw error }
            return LostCommit(cause: error, mark: mark, transaction: transaction)
        }
        self.session = session
        committed(jobs, transaction, mark)
        return nil
    }

    /// Ends a transaction that came to nothing.
    private func undo(_ server: ServerConnection) {
        policies.forget()
        if server.isLost { return }
        // One that cannot be ended would take all that comes after for a part of itself.
        if server.isInTransaction, (try? server.run("ROLLBACK")) == nil { disconnect() }
    }

    /// Rings, and answers those who need not wait for the disk.
    private func committed(_ jobs: [any Job], _ transaction: Transaction, _ mark: CommitMark) {
        transaction.committed()
        bell.ring(transaction.rings)
        var unflushed: [any Job] = []
        for job in jobs {
            if job.awaitsFlush {
                _ = job.answerUnflushed()
                unflushed.append(job)
            } else {
                job.finish(nil)
            }
        }
        if !unflushed.isEmpty { flushes.add(FlushLine.Entry(jobs: unflushed, mark: mark)) }
    }

    /// Whether a transaction took effect; `nil`: nobody can be asked before the deadline.
    private func outcome(of mark: CommitMark, until deadline: ContinuousClock.Instant) -> Bool? {
        while true {
            do {
                let session = try connected(until: deadline)
                // The old connection's transaction may still be about to commit; it holds the lock until it has.
                try session.begin(until: deadline, sessions, timings, stalls)
                let isThere = try mark.isThere(session.server)
                try session.server.run("COMMIT")
                return isThere
            } catch {
                disconnect()
                guard ContinuousClock.now < deadline else { return nil }
                backoff.wait(until: deadline)
            }
        }
    }

    // MARK: The connection

    private func connected(until deadline: ContinuousClock.Instant) throws -> WriterSession {
        if let session { return session }
        let start = ContinuousClock.now
        defer { stalls.note(since: start) }
        let server = try sessions.connect()
        server.deadline = max(deadline, .now + WriterSession.workMax) + WriterSession.grace
        try Incarnation.begin(server)
        try CommitMark.removeOld(server)
        try SaidVerdicts.removeOld(server)
        policies.forget()
        let session = try WriterSession(server, rows: numbers)
        self.session = session
        if let lostAt { stalls.note(since: lostAt) }
        lostAt = nil
        return session
    }

    private func disconnect() {
        if let session {
            sessions.abandon(session.server)
            lostRows.append(session.row)
        }
        session = nil
        lostAt = lostAt ?? .now
    }

    /// When the last connection was lost.
    private var lostAt: ContinuousClock.Instant?
}
