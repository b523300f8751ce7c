import Foundation
import GRDB
import PenstockCore

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
    }

    /// Carries out the jobs that are in `line` when its turn has come. Those that a look answers are answered.
    func run(_ line: JobLine) -> Outcome {
        access.pool.unsafeReentrantWrite { database in
            let connection = connection(to: database)
            line.look { glanced($0, connection) }
            if line.count == 0 { return Outcome() }
            turn.enter(access.turnstile)
            defer { access.turnstile.leave() }
            return run(line.take(), connection)
        }
    }

    private func run(_ jobs: [any Job], _ connection: Connection) -> Outcome {
        if jobs.isEmpty { return Outcome() }
        do {
            return Outcome(committed: jobs, rung: [try transact(jobs, connection)])
        } catch let error as NotBegun {
            let error = translated(error.cause)
            return Outcome(failed: jobs.map { ($0, error) })
        } catch  where jobs.count > 1 {
            // One of them did not go through. Alone, each has the answer that is its own.
            return runOneByOne(jobs, connection)
        } catch {
            return Outcome(failed: [(jobs[0], translated(error))])
        }
    }

    private func runOneByOne(_ jobs: [any Job], _ connection: Connection) -> Outcome {
        var outcome = Outcome()
        for (index, job) in jobs.enumerated() {
            do {
                outcome.rung.append(try transact([job], connection))
                outcome.committed.append(job)
            } catch let error as NotBegun {
                // What keeps this one out keeps out the others: they need not wait as long again, each in its turn.
                let error = translated(error.cause)
                outcome.failed += jobs[index...].map { ($0, error) }
                break
            } catch {
                outcome.failed.append((job, translated(error)))
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

    /// Runs `jobs` in one transaction.
    ///
    /// - Returns: the queues to ring for.
    /// - Throws: ``NotBegun`` when it did not come to the first job.
    private func transact(_ jobs: [any Job], _ connection: Connection) throws -> Rung {
        let wanted: Durability = jobs.contains { $0.durability == .powerLoss } ? .powerLoss : .processCrash
        do {
            return try access.withDurability(wanted, connection.database) {
                let transaction = try begin(connection)
                do {
                    for job in jobs { try job.perform(in: transaction) }
                    try transaction.writeDown()
                    try connection.execute(Self.commit)
                } catch {
                    throw Failed(cause: undone(error, connection))
                }
                transaction.committed()
                return transaction.rung
            }
        } catch let error as Failed {
            throw error.cause
        } catch {
            throw NotBegun(cause: error)
        }
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
}
