import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization

/// What this process is to the others: a row in `penstock_worker` and the lock that says it lives.
///
/// Both come with the first claim, so a process that only enqueues has neither. The lock is taken before the row is
/// written: a row without a lock is a dead process, at every moment.
final class WorkerIdentity: Sendable {
    private struct Registration {
        var id: Int64
        var lock: WorkerLock
    }

    private let registration = Mutex<Registration?>(nil)
    private let folder: SharedFolder
    private let name: String?
    private let startedAt: Timestamp

    init(_ folder: SharedFolder, name: String?, startedAt: Timestamp) {
        self.folder = folder
        self.startedAt = startedAt
        self.name = name
    }

    /// The row's number, if a row was written.
    var id: Int64? {
        registration.withLock { $0?.id }
    }

    /// The row's number; writes the row when it is not there: at the first claim, after a transaction that was rolled
    /// back, or after others took this process for dead, which has cost it its leases.
    func register(in transaction: Transaction) throws -> Int64 {
        let connection = transaction.connection
        if let (id, lockName) = registration.withLock({ $0.map { ($0.id, $0.lock.name) } }),
            try connection.first(Self.read, .integer(id), .text(lockName), read: { _ in true }) == true
        {
            return id
        }
        letGo()
        // Once in a worker's life, and so the cheapest moment to tidy up after others.
        WorkerLock.removeAbandoned(in: folder)
        let lock = try WorkerLock(in: folder)
        try connection.run(
            Self.insert, .text(lock.name), .text(name ?? Self.hostAndProcess), .integer(Int64(getpid())),
            .text(transaction.time.boot.bootID), .integer(startedAt.microseconds))
        guard let id = try connection.first(Self.readID, .text(lock.name), read: { $0.integer(0) }) else {
            throw PenstockError(.storage, "The worker's row was not written; run `penstock doctor`.")
        }
        registration.withLock { $0 = Registration(id: id, lock: lock) }
        return id
    }

    /// Removes the row, for an orderly end. Its messages must be back in line. ``letGo()`` follows the commit.
    func unregister(_ connection: Connection) throws {
        guard let id else { return }
        try connection.run(Self.delete, .integer(id))
    }

    /// Says in the worker's file that this process asks at `moment` for more time for its leases; `nil`: that it does not
    /// ask any more.
    func ask(at moment: Int64?) {
        registration.withLock { $0?.lock.ask(at: moment) }
    }

    /// Lets go of the lock and leaves the file, as the kernel does when a process is killed.
    func die() {
        registration.withLock { $0 = nil }
    }

    /// Lets go of the lock and removes its file, once there is no row.
    func letGo() {
        registration.withLock { registration in
            registration?.lock.removeFile()
            registration = nil
        }
    }

    /// Read from the kernel: what Foundation calls the host's name can be a question to a name server.
    private static var hostAndProcess: String {
        var bytes = [CChar](repeating: 0, count: 256)
        let isKnown = gethostname(&bytes, bytes.count - 1) == 0
        let host =
            isKnown
            ? String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : "localhost"
        return "\(host):\(getpid())"
    }

    private static let read = Query("SELECT 1 FROM penstock_worker WHERE id = ?1 AND lock_name = ?2")
    private static let readID = Query("SELECT id FROM penstock_worker WHERE lock_name = ?1")
    private static let insert = Query(
        "INSERT INTO penstock_worker (lock_name, name, process_id, boot_id, started_at) VALUES (?1, ?2, ?3, ?4, ?5)")
    private static let delete = Query("DELETE FROM penstock_worker WHERE id = ?1")
}
