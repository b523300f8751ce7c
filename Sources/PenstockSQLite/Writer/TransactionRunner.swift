import Foundation
import GRDB
import PenstockCore
import PenstockProcesses

/// Carries out jobs in transactions, on the writer's thread.
///
/// At each point a crash leaves the file as after the last COMMIT: before it, no caller has been answered; after it,
/// each answer is true, and a ring that was not given is made good by the looks that waiters take by themselves. A power
/// cut leaves it as after some COMMIT, and not before the last one that was flushed; who asked for that is answered then.
final class TransactionRunner {
    private let access: DatabaseAccess
    private let time: any TimeSource
    private let random: any RandomSource
    private let turn: TurnWait
    private let policies = PolicyCache()
    private var connection: Connection?
    /// Whether the next jobs may be carried out by another process.
    private var handsOver = true

    init(access: DatabaseAccess, time: any TimeSource, random: any RandomSource, turn: TurnWait) {
        self.access = access
        self.turn = turn
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
        /// Calls of other processes that are committed, and not answered yet.
        var guests: [Handover.Guest] = []
    }

    /// Carries out the jobs that are in `line` when its turn has come. Those that a look answers are answered.
    func run(_ line: JobLine) -> Outcome {
        access.pool.unsafeReentrantWrite { database in
            let connection = connection(to: database)
            line.look { glanced($0, connection) }
            if line.count == 0 { return Outcome() }
            let entry = turn.enter(handsOver: handsOver)
            handsOver = true
            if case .answered(let answer) = entry { return accept(answer, line) }
            defer { access.leaveTurn() }
            do {
                if let answer = try collectAbandoned(connection) { return accept(answer, line) }
            } catch {
                return Outcome(failed: line.take().map { ($0, error) })
            }
            return run(line.take(), connection)
        }
    }

    /// What another process has done of the jobs that come first in `line`.
    private func accept(_ answer: Handover.Answer, _ line: JobLine) -> Outcome {
        let jobs = line.takeFirst(answer.receipts.count)
        for (job, receipts) in zip(jobs, answer.receipts) { job.accept(receipts) }
        // What was refused there has its answer from its own process.
        handsOver = !answer.isPartial
        guard let failure = answer.failure else { return Outcome(flushed: jobs) }
        return Outcome(
            failed: jobs.filter(\.awaitsFlush).map { ($0, failure) }, flushed: jobs.filter { !$0.awaitsFlush })
    }

    /// With the turn, finds out what became of requests that somebody had taken who is dead.
    ///
    /// - Returns: the answer to this process's own, if it was carried out.
    private func collectAbandoned(_ connection: Connection) throws -> Handover.Answer? {
        guard let handover = access.handover else { return nil }
        if handover.hasAbandoned,
            let name = try? connection.first(Self.readLastBatch, read: { UInt64(bitPattern: $0.integer(0)) })
        {
            handover.resolveAbandoned(lastBatch: name)
        }
        return try handover.collectAbandoned()
    }

    private func run(_ jobs: [any Job], _ connection: Connection) -> Outcome {
        if jobs.isEmpty { return Outcome() }
        do {
            let (rung, guests) = try transact(jobs, connection, withGuests: true)
            return Outcome(committed: jobs, rung: [rung], guests: guests)
        } catch let error as NotBegun {
            let error = translated(error.cause)
            return Outcome(failed: jobs.map { ($0, error) })
        } catch let error as Failed where jobs.count == 1 && !error.hadGuests {
            return Outcome(failed: [(jobs[0], translated(error.cause))])
        } catch {
            // One of them did not go through, or a guest. Alone, each has the answer that is its own.
            return runOneByOne(jobs, connection)
        }
    }

    private func runOneByOne(_ jobs: [any Job], _ connection: Connection) -> Outcome {
        var outcome = Outcome()
        for (index, job) in jobs.enumerated() {
            do {
                outcome.rung.append(try transact([job], connection, withGuests: false).rung)
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

    /// Lets go of the prepared statements, which must not outlive the connection.
    func end() {
        access.pool.unsafeReentrantWrite { _ in connection = nil }
        access.close()
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
        } catch {
            job.finish(translated(error))
            return true
        }
    }

    private func translated(_ error: any Error) -> any Error {
        StorageErrors.translated(error, path: access.path)
    }

    /// Runs `jobs` in one transaction, and before them what other processes have handed over.
    ///
    /// - Returns: the queues to ring for, and whom else to answer.
    /// - Throws: ``NotBegun`` when it did not come to the first job, and ``Failed``.
    private func transact(
        _ jobs: [any Job], _ connection: Connection, withGuests: Bool
    ) throws -> (rung: Rung, guests: [Handover.Guest]) {
        let wanted: Durability = jobs.contains { $0.durability == .powerLoss } ? .powerLoss : .processCrash
        do {
            return try access.withDurability(wanted, connection.database) {
                let transaction = try begin(connection)
                var guests: [Handover.Guest] = []
                do {
                    if withGuests { guests = try performGuests(in: transaction) }
                    for job in jobs { try job.perform(in: transaction) }
                    try transaction.writeDown()
                    try connection.execute(Self.commit)
                } catch {
                    let error = undone(error, connection)
                    access.handover?.giveBack(guests)
                    throw Failed(cause: error, hadGuests: transaction.batch != nil)
                }
                transaction.committed()
                return (transaction.rung, access.handover?.commit(guests) ?? [])
            }
        } catch let error as Failed {
            throw error
        } catch {
            throw NotBegun(cause: error)
        }
    }

    /// Carries out what other processes have handed over.
    private func performGuests(in transaction: Transaction) throws -> [Handover.Guest] {
        // As long as it is not known what became of earlier ones, no other name may take the place of theirs.
        guard let handover = access.handover, handover.isOpen, handover.hasPosts, !handover.hasAbandoned else {
            return []
        }
        let batch = random.next()
        let guests = handover.takeGuests(batch: batch, now: transaction.now)
        if guests.isEmpty { return [] }
        transaction.batch = batch
        do {
            for guest in guests { handover.write(try perform(guest.parcels, in: transaction), for: guest) }
        } catch {
            handover.giveBack(guests)
            throw error
        }
        return guests
    }

    /// Carries out calls up to the first that is refused.
    private func perform(_ parcels: [Parcel], in transaction: Transaction) throws -> [[Receipt]] {
        var receipts: [[Receipt]] = []
        do {
            for parcel in parcels {
                receipts.append(
                    try Enqueue.perform(
                        parcel.messages, to: parcel.queue, durability: parcel.durability, in: transaction))
            }
        } catch let error as PenstockError where error.isRefusal {
            // Its own process asks again, and has the refusal for its answer.
        }
        return receipts
    }

    private func begin(_ connection: Connection) throws -> Transaction {
        try Patience.whileLocked(upTo: access.busyMax) { try connection.execute(Self.begin) }
        do {
            // What would be written to a file that has lost its name is gone with this process.
            if connection.fileHasMoved {
                throw PenstockError(
                    .storage,
                    "\(access.path) was removed or replaced while it was open; close the store and open it again.")
            }
            return try Transaction(
                connection, path: access.path, time: time, random: random, policies: policies)
        } catch {
            throw undone(error, connection)
        }
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

    private static let readLastBatch = Query("SELECT last_batch FROM penstock_state WHERE id = 1")
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
    /// Whether calls of other processes were in it.
    let hadGuests: Bool
}
