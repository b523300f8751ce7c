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
///
/// Processes of one machine spare the server transactions: the one that writes carries out what others have asked for in its own
/// (``WriterAccess``). It takes that once it has the server's lock, so a process that has the lock later knows what became of it.
final class TransactionRunner {
    private let writer: GroupWriter
    private let connection: WriterConnection
    private let time: any TimeSource
    private let random: any RandomSource
    private let bell: ServerBell
    private let flushes: FlushLine
    private let policies: PolicyCache
    /// Which process of this machine writes; `nil`: the processes of this machine do not know of each other.
    private let access: WriterAccess?
    private var answers: HostAnswers
    /// The number of the last transaction that was begun.
    private var number: Int64 = 0
    /// Whether the last transaction had something in it that another process has asked for.
    private var hadRequests = false
    private var address: ServerAddress { connection.sessions.address }

    init(
        _ writer: GroupWriter, sessions: Sessions, time: any TimeSource, random: any RandomSource,
        bell: ServerBell, host: SameHost?, lockWaitMax: Duration
    ) {
        self.writer = writer
        self.time = time
        self.random = random
        self.bell = bell
        let policies = PolicyCache()
        self.policies = policies
        let connection = WriterConnection(sessions) { policies.forget() }
        self.connection = connection
        let answers = HostAnswers(number: host?.lock.slots?.number ?? 0)
        self.answers = answers
        access = host.map { host in
            WriterAccess(host.lock, writer, .server(connection, answers, writer, lockWaitMax: lockWaitMax))
        }
        flushes = FlushLine(sessions, slots: host?.lock.slots)
    }

    /// The thread: carries out what is asked for, until there will be nothing more.
    func run() {
        while writer.wait() { carryOut() }
        flushes.close()
        connection.end()
    }

    /// Carries out the jobs that are in the line. Those that a read-only check answers are answered.
    private func carryOut() {
        connection.leaveSuperseded()
        let hasJobs = writer.look { jobs in
            // Nobody looks where there is no connection: the transaction connects, and waits for that.
            if connection.session == nil { _ = try? connection.connected(until: .now) }
            return hasSaidVerdicts ? jobs : jobs.filter { !isAnswered($0) }
        }
        if !hasJobs { return }
        switch access?.enter() {
        case .nothingLeft: return
        case .answered(let receipts, let request, let isFlushed):
            return accept(receipts, to: request, isFlushed: isFlushed)
        case .acquired, nil: break
        }
        defer { access?.leave() }
        let jobs = writer.take()
        if jobs.isEmpty { return }
        do {
            try together(jobs, takesRequests: true)
        } catch {
            if jobs.count == 1, !hadRequests { return jobs[0].finish(translated(error)) }
            // One of them did not go through, or another process's. Alone, each has the answer that is its own.
            var cause = error
            for job in jobs {
                // Where it was the server, those whose time is over have waited for it together.
                let isOver = job.deadline <= .now && (cause as? ServerError)?.isInTheWay == true
                if isOver || (cause as? FlushLine.Unready)?.ends(job) == true {
                    job.finish(translated(cause))
                    continue
                }
                do {
                    try together([job], takesRequests: false)
                } catch {
                    cause = error
                    job.finish(translated(error))
                }
            }
        }
    }

    /// Another process has carried out the jobs that come first in the line.
    private func accept(_ receipts: [[Receipt]], to request: WriterAccess.Request, isFlushed: Bool) {
        if isFlushed { return writer.accept(receipts).forEach { $0.finish(nil) } }
        // A mark of this process's own, behind that, says of whichever server has it that it has that as well.
        number += 1
        let start = ContinuousClock.now
        var own: (mark: CommitMark, life: ServerLife)?
        let isThere = connection.ask(until: writer.firstDeadline ?? .now) { [self] connection in
            guard try answers.find(slot: request.slot, ticket: request.ticket, connection) != nil,
                let session = self.connection.session
            else { return false }
            let mark = CommitMark(writer: session.row, number: number)
            try mark.write(connection)
            own = (mark, session.life)
            return true
        }
        switch (isThere, own) {
        case (true, let own?):
            answer(writer.accept(receipts), .init(jobs: [], mark: own.mark, life: own.life, begunAt: start))
        // The server that had it was given up for another one, which does not: it is still to be done.
        case (false, _): break
        default: writer.accept(receipts).forEach { $0.finish(ServerFailures.unknown(address, nil)) }
        }
    }

    /// Whether a look would see what is not carried out yet.
    private var hasSaidVerdicts: Bool {
        guard let session = connection.session else { return false }
        session.server.deadline = .now + WriterSession.workMax
        defer { if session.server.isLost { connection.disconnect() } }
        return (try? SaidVerdicts.areOpen(session.connection)) ?? false
    }

    private func isAnswered(_ job: Job) -> Bool {
        guard let session = connection.session else { return false }
        let start = ContinuousClock.now
        defer { connection.sessions.stalls.note(since: start) }
        do {
            session.server.deadline = job.deadline + WriterSession.grace
            return try job.check(session.connection, policies, now: time.now)
        } catch let error as ServerError where error.isLost || error.mayBeTriedAgain {
            if error.isLost { connection.disconnect() }
            return false
        } catch {
            job.finish(translated(error))
            return true
        }
    }

    private func translated(_ error: any Error) -> any Error {
        ServerFailures.translated((error as? FlushLine.Unready)?.cause ?? error, address)
    }

    // MARK: Transactions

    /// Carries out jobs in one transaction, however often the server goes away meanwhile, until their deadline.
    ///
    /// - Parameter takesRequests: whether also what other processes of this machine have asked for; else other jobs may wait behind these.
    private func together(_ jobs: [Job], takesRequests: Bool) throws {
        let deadline = jobs.map(\.deadline).min() ?? .now
        number += 1
        var guardsAttempts = false
        while true {
            do {
                guard let lost = try transact(jobs, until: deadline, guardsAttempts, takesRequests) else { return }
                connection.disconnect()
                guard let isCommitted = connection.ask(until: deadline, { try lost.entry.mark.isThere($0.server) })
                else {
                    return jobs.forEach { $0.finish(ServerFailures.unknown(address, lost.cause)) }
                }
                if isCommitted { return committed(jobs, lost.transaction, lost.entry) }
                giveBack(lost.entry.requests)
            } catch let error as PostgresConnection.Contradicted {
                if guardsAttempts { throw error.cause }
                guardsAttempts = true
            } catch let error as ServerError where error.isContradiction && !guardsAttempts {
                // What was sent ahead was told of when the attempt was over.
                guardsAttempts = true
            } catch let error as FlushLine.Unready {
                access?.leave()
                // What needs no flush is not to wait for one that was refused.
                let mayWait = !error.isRefused || takesRequests && jobs.areForPowerLoss && writer.wantsNothingElse
                guard mayWait, connection.pause(until: deadline) else { throw error }
            } catch let error as ServerError where error.isLost || error.mayBeTriedAgain {
                if error.isLost { connection.disconnect() }
                // Others of this machine need not wait for the same.
                access?.leave()
                guard connection.pause(until: deadline) else { throw error }
            }
        }
    }

    /// A COMMIT without an answer.
    private struct LostCommit {
        let cause: any Error
        let entry: FlushLine.Entry
        let transaction: Transaction
    }

    /// - Returns: what is to be asked for when the COMMIT has no answer; `nil`: the jobs have theirs.
    private func transact(
        _ jobs: [Job], until deadline: ContinuousClock.Instant, _ guardsAttempts: Bool, _ takesRequests: Bool
    ) throws -> LostCommit? {
        var session = try connection.connected(until: deadline)
        let server = session.server
        let mark = session.nextMark(number)
        let oldRows = session.takeOldRows { flushes.firstPending }
        let transaction: Transaction
        var requests: [PostedRequest] = []
        hadRequests = false
        if jobs.includePowerLoss { try flushes.makeReady() }
        do {
            session.connection.guardsAttempts = guardsAttempts
            session.connection.sendsAhead = !guardsAttempts
            defer { session.connection.sendsAhead = false }
            try session.begin(until: deadline, connection.sessions) { connection in
                try SaidVerdicts.prefetch(connection)
                try Transaction.prefetch(policies, connection)
                for job in jobs { try job.prefetch(connection, policies) }
            }
            transaction = try Transaction(
                session.connection, path: address.description, time: time, random: random, policies: policies)
            transaction.settledBefore = { [connection = session.connection] lease, isLast in
                try SaidVerdicts.result(of: lease, connection, isLast: isLast)
            }
            if try SaidVerdicts.areOpen(session.connection) {
                try SaidVerdicts.carryOut(session.connection, in: transaction)
            }
            if takesRequests, let access, let slots = access.lock.slots {
                requests = PostedRequest.taken(from: slots, besides: access.ownSlot, at: transaction.now)
            }
            hadRequests = !requests.isEmpty
            try jobs.perform(with: &requests, answers, in: transaction)
            try mark.write(session.connection)
            if let last = access?.lastRequest { try answers.removeLeft(before: last, session.connection) }
            for row in oldRows { try CommitMark.remove(row, session.connection) }
            server.deadline = max(deadline, .now + WriterSession.workMax) + WriterSession.grace
        } catch {
            undo(server)
            giveBack(requests)
            throw error
        }
        let entry = FlushLine.Entry(jobs: [], mark: mark, requests: requests, life: session.life, begunAt: .now)
        bell.willCommit()
        do {
            try server.commit()
        } catch {
            undo(server)
            // Only a connection that is lost leaves it open.
            guard (error as? ServerError)?.isLost == true else {
                giveBack(requests)
                throw error
            }
            return LostCommit(cause: error, entry: entry, transaction: transaction)
        }
        connection.keep(session)
        committed(jobs, transaction, entry)
        return nil
    }

    /// Ends a transaction that came to nothing.
    private func undo(_ server: ServerConnection) {
        policies.forget()
        if server.isLost { return }
        // One that cannot be ended would take all that comes after for a part of itself.
        if server.isInTransaction, (try? server.run("ROLLBACK")) == nil { connection.disconnect() }
    }

    /// Lets other processes carry out requests, or those that have posted them.
    private func giveBack(_ requests: [PostedRequest]) {
        if !requests.isEmpty { access?.lock.slots?.giveBack(requests.map(\.taken)) }
    }

    /// Rings, and answers those who need not wait for the disk.
    private func committed(_ jobs: [Job], _ transaction: Transaction, _ entry: FlushLine.Entry) {
        access?.leave()
        transaction.committed()
        bell.ring(transaction.rings)
        answer(jobs, entry)
    }

    /// - Parameter entry: what was committed, without the jobs.
    private func answer(_ jobs: [Job], _ entry: FlushLine.Entry) {
        var entry = entry
        for job in jobs {
            if job.awaitsFlush {
                _ = job.answerUnflushed()
                entry.jobs.append(job)
            } else {
                job.finish(nil)
            }
        }
        flushes.add(entry)
    }
}
