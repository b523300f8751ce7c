import Foundation
package import PenstockCore
import PenstockProcesses
import Synchronization

/// What this process is to the others: a row in `penstock_worker` and the lock that says it lives.
///
/// Both come with the first claim, so a process that only enqueues has neither. The lock is taken before the row is
/// written: a row without a lock is a dead process, at every moment.
///
/// In the lock's file, which needs no store, it says that it asks for more time for its leases and has no answer yet. An
/// extension goes through the same writer as everything else. When the store stalls for longer than a lease lasts,
/// extensions are still in line when the first process gets through, and that one must not take the messages of workers
/// that live. The word holds for a few seconds (`WorkerStanding`), and is said again each second. A process that is stopped,
/// hangs or dies does not say it again.
package final class WorkerIdentity: Sendable {
    private struct Registration {
        var id: Int64
        var lock: any HeldWorkerLock
    }

    /// The calls that ask for more time, and what says again that they do.
    private struct Asking {
        var callCount = 0
        var task: Task<Void, Never>?
    }

    private static let interval = Duration.seconds(1)

    private let registration = Mutex<Registration?>(nil)
    private let asking = Mutex(Asking())
    private let locks: any WorkerLocks
    private let name: String?
    private let time: any TimeSource
    private let startedAt: Timestamp

    package init(_ locks: any WorkerLocks, name: String?, time: any TimeSource) {
        self.locks = locks
        self.name = name
        self.time = time
        startedAt = time.now
    }

    /// The row's number, if a row was written.
    package var id: Int64? {
        registration.withLock { $0?.id }
    }

    /// The row's number; writes the row when it is not there: at the first claim, after a transaction that was rolled
    /// back, or after others took this process for dead, which has cost it its leases.
    func register(in transaction: Transaction) throws -> Int64 {
        let connection = transaction.connection
        if let (id, lockName) = registration.withLock({ $0.map { ($0.id, $0.lock.name) } }),
            try connection.has(Self.read, .integer(id), .text(lockName))
        {
            return id
        }
        letGo()
        // Once in a worker's life, and so the cheapest moment to tidy up after others.
        locks.removeAbandoned()
        let lock = try locks.take()
        try connection.run(
            Self.insert, .text(lock.name), .text(name ?? ProcessName.hostAndProcess), .integer(Int64(getpid())),
            .text(transaction.time.boot.bootID), .integer(startedAt.microseconds))
        let id = try WorkerRow.id(of: lock.name, connection)
        registration.withLock { $0 = Registration(id: id, lock: lock) }
        return id
    }

    /// Says that ``register(in:)`` is about to look for the row, if one was written.
    func prefetch(_ connection: Connection) throws {
        guard let (id, lockName) = registration.withLock({ $0.map { ($0.id, $0.lock.name) } }) else { return }
        try connection.prefetch(Self.read, .integer(id), .text(lockName))
    }

    /// Removes the row, for an orderly end. Its messages must be back in line. ``letGo()`` follows the commit.
    package func unregister(_ connection: Connection) throws {
        guard let id else { return }
        try connection.run(WorkerRow.delete, .integer(id))
    }

    /// Lets go of the lock and leaves the file, as the kernel does when a process is killed.
    package func die() {
        registration.withLock { $0 = nil }
    }

    /// Lets go of the lock and removes its file, once there is no row.
    package func letGo() {
        registration.withLock { registration in
            registration?.lock.remove()
            registration = nil
        }
    }

    // MARK: Asking for more time

    /// Runs `extend`, which extends leases, and says meanwhile that it asks.
    ///
    /// When it fails because the store answers nobody, the word stands for as long as it holds: time enough to ask again. What
    /// this process alone cannot do must not keep its messages from the others.
    func askingForMoreTime<Answer: Sendable>(_ extend: () async throws -> Answer) async throws -> Answer {
        asking.withLock { asking in
            asking.callCount += 1
            guard asking.callCount == 1 else { return }
            ask(at: time.boot.microseconds)
            asking.task = Task { [self] in
                while (try? await time.sleep(for: Self.interval)) != nil { sayAgain() }
            }
        }
        do {
            let answer = try await extend()
            endAsking(isAnswered: true)
            return answer
        } catch {
            endAsking(isAnswered: (error as? PenstockError)?.isOfStalledStore != true)
            throw error
        }
    }

    private func sayAgain() {
        // Inside the lock, so that no word comes after the last call has its answer.
        asking.withLock { if $0.callCount > 0 { ask(at: time.boot.microseconds) } }
    }

    private func endAsking(isAnswered: Bool) {
        asking.withLock { asking in
            asking.callCount -= 1
            guard asking.callCount == 0 else { return }
            asking.task?.cancel()
            asking.task = nil
            ask(at: isAnswered ? nil : time.boot.microseconds)
        }
    }

    /// Says in the worker's file that this process asks at `moment` for more time for its leases; `nil`: that it does not
    /// ask any more.
    func ask(at moment: Int64?) {
        registration.withLock { $0?.lock.ask(at: moment) }
    }

    private static let read = Query("SELECT 1 FROM penstock_worker WHERE id = ?1 AND lock_name = ?2")
    private static let insert = Query(
        "INSERT INTO penstock_worker (lock_name, name, process_id, boot_id, started_at) VALUES (?1, ?2, ?3, ?4, ?5)")
}
