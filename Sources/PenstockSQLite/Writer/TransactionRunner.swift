import Foundation
import GRDB
import PenstockCore

/// Carries out jobs in transactions, on the writer's thread.
///
/// At each point a crash leaves the file as after the last COMMIT: before it, no caller has been answered; after it,
/// each answer is true, and a ring that was not given is made good by the looks that waiters take by themselves.
final class TransactionRunner {
    /// How long a foreign writer may hold the file before callers are told.
    private static let busyMax = Duration.seconds(30)

    private let access: DatabaseAccess
    private let time: any TimeSource
    private let random: any RandomSource
    private let policies = PolicyCache()
    private var connection: Connection?
    private var durability: Durability?

    init(access: DatabaseAccess, time: any TimeSource, random: any RandomSource) {
        self.access = access
        self.time = time
        self.random = random
    }

    /// Answers every job, and calls `committed` after each transaction that came through.
    func run(_ jobs: [any Job], committed: GroupWriter.Committed) {
        access.writer.unsafeReentrantWrite { database in
            let connection = connection(to: database)
            var jobs = jobs
            if jobs.allSatisfy(\.canGlance) {
                jobs.removeAll { job in glanced(job, connection) }
                if jobs.isEmpty { return }
            }
            do {
                committed(try transact(jobs, connection))
                for job in jobs { job.finish(nil) }
            } catch  where jobs.count > 1 {
                // One of them did not go through. Alone, each has the answer that is its own.
                for job in jobs {
                    do {
                        committed(try transact([job], connection))
                        job.finish(nil)
                    } catch {
                        job.finish(translated(error))
                    }
                }
            } catch {
                jobs[0].finish(translated(error))
            }
        }
    }

    /// Lets go of the prepared statements, which must not outlive the connection.
    func end() {
        access.writer.unsafeReentrantWrite { _ in connection = nil }
        access.close()
    }

    private func connection(to database: Database) -> Connection {
        if let connection { return connection }
        let new = Connection(database)
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
    private func transact(_ jobs: [any Job], _ connection: Connection) throws -> Set<QueueName> {
        let wanted: Durability = jobs.contains { $0.durability == .powerLoss } ? .powerLoss : .processCrash
        return try access.turnstile.pass {
            try access.setDurability(wanted, was: &durability, connection.database)
            try begin(connection)
            let transaction: Transaction
            do {
                transaction = try Transaction(
                    connection, path: access.path, time: time, random: random, policies: policies)
                for job in jobs { try job.perform(in: transaction) }
                try transaction.writeDown()
                try connection.execute(Self.commit)
            } catch {
                policies.forget()
                if connection.database.isInsideTransaction { try connection.execute(Self.rollback) }
                throw error
            }
            transaction.committed()
            return transaction.rung
        }
    }

    private func begin(_ connection: Connection) throws {
        let started = ContinuousClock.now
        while true {
            do {
                return try connection.execute(Self.begin)
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_BUSY && ContinuousClock.now - started < Self.busyMax
            {
                // A writer that does not know the turnstile. It cannot wake anybody, so this looks again, at uneven
                // times lest two that wait keep step.
                usleep(500 + UInt32(random.next() % 4000))
            }
        }
    }

    private static let begin = Query("BEGIN IMMEDIATE")
    private static let commit = Query("COMMIT")
    private static let rollback = Query("ROLLBACK")
}
