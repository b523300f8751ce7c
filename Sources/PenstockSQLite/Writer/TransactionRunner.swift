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
    private let policies = PolicyCache()
    private var connection: Connection?

    init(access: DatabaseAccess, time: any TimeSource, random: any RandomSource) {
        self.access = access
        self.time = time
        self.random = random
    }

    /// Carries out every job, and calls `committed` after each transaction that came through.
    ///
    /// - Returns: the jobs that are committed, and are to be answered when that is flushed. The others are answered.
    func run(_ jobs: [any Job], committed: GroupWriter.Committed) -> [any Job] {
        access.pool.unsafeReentrantWrite { database in
            let connection = connection(to: database)
            var jobs = jobs
            if jobs.allSatisfy(\.canGlance) {
                jobs.removeAll { job in glanced(job, connection) }
                if jobs.isEmpty { return [] }
            }
            do {
                committed(try transact(jobs, connection))
                return unflushed(jobs)
            } catch let error as NotBegun {
                for job in jobs { job.finish(translated(error.cause)) }
            } catch  where jobs.count > 1 {
                // One of them did not go through. Alone, each has the answer that is its own.
                return runOneByOne(jobs, connection, committed)
            } catch {
                jobs[0].finish(translated(error))
            }
            return []
        }
    }

    private func runOneByOne(
        _ jobs: [any Job], _ connection: Connection, _ committed: GroupWriter.Committed
    ) -> [any Job] {
        var done: [any Job] = []
        for (index, job) in jobs.enumerated() {
            do {
                committed(try transact([job], connection))
                done.append(job)
            } catch let error as NotBegun {
                // What keeps this one out keeps out the others: they need not wait as long again, each in its turn.
                for job in jobs[index...] { job.finish(translated(error.cause)) }
                break
            } catch {
                job.finish(translated(error))
            }
        }
        return unflushed(done)
    }

    /// Answers those of `jobs`, which are committed, that do not wait for a flush.
    ///
    /// - Returns: the others.
    private func unflushed(_ jobs: [any Job]) -> [any Job] {
        var others: [any Job] = []
        for job in jobs {
            if access.flusher != nil, job.awaitsFlush {
                others.append(job)
            } else {
                job.finish(nil)
            }
        }
        return others
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
            return try access.turnstile.pass(within: access.busyMax) {
                try access.withDurability(wanted, connection.database) {
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
