import PenstockCore
import PenstockProcesses
import PenstockSQL

/// Carries out jobs in transactions and answers them, on the writer's thread.
///
/// All writers of a schema go one after the other, by an advisory lock that ends with the transaction: so sequence numbers are
/// given in the order in which they become visible, and a reader of the log misses none. The lock is not kept over a flush: a
/// transaction commits without one, and then this process waits for the disk, and for standbys where the server is told to, on
/// behalf of all its callers that asked for that.
///
/// With each transaction goes the number of the batch, in a row of this process. When the answer to a COMMIT is lost, that row
/// says after the next connection whether it took effect, on the same server or on one that was promoted: then the callers have
/// their answers, and otherwise the jobs are carried out again.
final class TransactionRunner {
    private let writer: GroupWriter
    private let sessions: Sessions
    private let time: any TimeSource
    private let random: any RandomSource
    private let timings: WriteTimings
    private let bell: ServerBell
    private let policies = PolicyCache()
    private var backoff: Backoff
    private var connection: PostgresConnection?
    /// The number of the last transaction that was begun.
    private var batch: Int64 = 0

    init(
        _ writer: GroupWriter, sessions: Sessions, time: any TimeSource, random: any RandomSource, timings: WriteTimings,
        bell: ServerBell
    ) {
        self.writer = writer
        self.sessions = sessions
        self.time = time
        self.random = random
        self.timings = timings
        self.bell = bell
        backoff = Backoff(random: random)
    }

    /// The thread: carries out what is asked for, until there will be nothing more.
    func run() {
        while writer.wait() { carryOut() }
        if let connection, !connection.server.isLost {
            _ = try? connection.server.run("DELETE FROM penstock_writer WHERE id = \(sessions.locks.id)")
        }
        connection = nil
    }

    /// Carries out the jobs that are in the line. Those that a read-only check answers are answered.
    private func carryOut() {
        while let jobs = writer.takeCheckable() {
            let left = jobs.filter { !isAnswered($0) }
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
            for job in jobs {
                do { try together([job]) } catch { job.finish(translated(error)) }
            }
        }
    }

    private func isAnswered(_ job: any Job) -> Bool {
        do {
            return try job.check(try connected(), now: time.now)
        } catch let error as ServerError where error.isLost {
            // The transaction connects again, and waits for that.
            connection = nil
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
        batch += 1
        while true {
            do {
                let rings = try transact(jobs)
                return answer(jobs, rings, deadline)
            } catch let error as LostCommit {
                connection = nil
                guard let isCommitted = outcome(until: deadline) else {
                    return jobs.forEach { $0.finish(unknown(error.cause)) }
                }
                if isCommitted { return answer(jobs, error.rings, deadline) }
            } catch let error as ServerError where error.isLost || error.mayBeTriedAgain {
                if error.isLost { connection = nil }
                guard ContinuousClock.now < deadline else { throw error }
                backoff.wait(until: deadline)
            }
        }
    }

    /// A COMMIT without an answer, and what is to be rung for should it have taken effect.
    private struct LostCommit: Error {
        let cause: any Error
        let rings: [(bucket: Int, ring: Ring)]
    }

    private func transact(_ jobs: [any Job]) throws -> [(bucket: Int, ring: Ring)] {
        let connection = try connected()
        let server = connection.server
        let start = ContinuousClock.now
        let clock = try server.run("BEGIN; SELECT penstock_write_lock(); \(ServerClock.question)")
        timings.recordWriterLock(since: start)
        sessions.clock.note(clock)
        let transaction: Transaction
        do {
            transaction = try Transaction(
                connection, path: sessions.address.description, time: time, random: random, policies: policies)
            for job in jobs { try job.perform(in: transaction) }
            try Cascade.writeDown(in: transaction)
            try transaction.writeDown()
        } catch {
            policies.forget()
            if !server.isLost, server.isInTransaction { _ = try? server.run("ROLLBACK") }
            throw error
        }
        let rings = transaction.rings
        do {
            try server.run(
                """
                INSERT INTO penstock_writer AS writer (id, batch, written_at) VALUES (\(sessions.locks.id), \(batch), penstock_now())
                ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at; COMMIT
                """)
        } catch let error as ServerError where error.isLost {
            policies.forget()
            throw LostCommit(cause: error, rings: rings)
        } catch {
            policies.forget()
            if server.isInTransaction { _ = try? server.run("ROLLBACK") }
            throw error
        }
        transaction.committed()
        return rings
    }

    /// Rings, waits for the disk where that is asked for, and answers.
    private func answer(_ jobs: [any Job], _ rings: [(bucket: Int, ring: Ring)], _ deadline: ContinuousClock.Instant) {
        bell.ring(rings)
        var unflushed: [any Job] = []
        for job in jobs {
            if job.awaitsFlush {
                _ = job.answerUnflushed()
                unflushed.append(job)
            } else {
                job.finish(nil)
            }
        }
        if unflushed.isEmpty { return }
        let failure = flush(until: deadline)
        for job in unflushed { job.finish(failure) }
    }

    // MARK: Durability

    /// Waits until what was committed is on the disk, and on the standbys that the server waits for.
    ///
    /// The log of a server is one line: a commit that waits for its own record waits for all before it.
    ///
    /// - Returns: why nobody knows whether it is.
    private func flush(until deadline: ContinuousClock.Instant) -> PenstockError? {
        while true {
            do {
                let server = try connected().server
                let start = ContinuousClock.now
                try server.run(
                    """
                    BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'penstock', '');
                    COMMIT
                    """)
                timings.recordFlush(since: start)
                if server.takeWarning() != nil {
                    return PenstockError(
                        .outcomeUnknown,
                        "What was written is at \(sessions.address.description), and no standby has confirmed it; look whether it is "
                            + "there before you make the call again.")
                }
                return nil
            } catch {
                guard (error as? ServerError)?.isLost == true else { return unknown(error) }
                connection = nil
                // Another server, or the same after a crash, may not have what was committed and not flushed.
                guard outcome(until: deadline) == true else { return unknown(error) }
            }
        }
    }

    /// Whether the last batch took effect; `nil`: nobody can be asked before the deadline.
    private func outcome(until deadline: ContinuousClock.Instant) -> Bool? {
        while true {
            do {
                let server = try connected().server
                // The old connection's transaction may still be about to commit; it holds the lock until it has.
                let answer = try server.run(
                    """
                    BEGIN; SELECT penstock_write_lock();
                    SELECT count(*) FROM penstock_writer WHERE id = \(sessions.locks.id) AND batch = \(batch)
                    """)
                let isThere = String(decoding: answer.bytes(0, 0), as: UTF8.self) == "1"
                try server.run("COMMIT")
                return isThere
            } catch {
                connection = nil
                guard ContinuousClock.now < deadline else { return nil }
                backoff.wait(until: deadline)
            }
        }
    }

    private func unknown(_ cause: any Error) -> PenstockError {
        PenstockError(
            .outcomeUnknown,
            "The server of \(sessions.address.description) went away before it answered, and nobody knows whether the call took effect; "
                + "look whether its messages are there before you make it again.",
            cause: cause)
    }

    private func connected() throws -> PostgresConnection {
        if let connection { return connection }
        let server = try sessions.connect()
        try Incarnation.begin(server)
        policies.forget()
        let connection = PostgresConnection(server)
        self.connection = connection
        backoff.reset()
        return connection
    }
}
