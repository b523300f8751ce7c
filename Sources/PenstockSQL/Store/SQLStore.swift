package import PenstockCore
package import PenstockProcesses
import Synchronization

/// A ``MessageStore`` whose operations are said in SQL, by the statements of this module.
///
/// An engine opens the database, carries out the writer's transactions and reads snapshots; what a call does in them is written
/// once, here, for all engines.
public protocol SQLStore: SQLReading {
    /// What an engine gives the operations.
    var core: SQLStoreCore { get }
}

extension SQLStore {
    /// What it reads, until it is closed.
    public var snapshots: Snapshots { core.snapshots }
}

/// What an engine gives the operations of a store.
public final class SQLStoreCore: Sendable {
    package let writer: GroupWriter
    package let worker: WorkerIdentity
    package let locks: any WorkerLocks
    package let suspension: MachineSuspension
    package let time: any TimeSource
    package let random: any RandomSource
    /// Called between the steps of a call that works in several transactions. For tests.
    package let afterStep: (@Sendable () async throws -> Void)?
    /// Throws when what was opened is no longer there.
    package let requireStill: @Sendable () throws -> Void
    /// Throws when nothing more can be called durable before the store is opened anew.
    package let requireFlushes: @Sendable () throws -> Void
    /// Gives room that has come free back to the system, a step at a time; says whether there is more. `nil`: the engine sees to it.
    package let giveBack: (@Sendable (Connection) throws -> Bool)?
    /// About how many rows such a step is worth.
    package static let giveBackWeight = 1000
    let surveyTime = SurveyTime()
    let leaseHorizon: LeaseHorizon
    let keptTasks = KeptTasks()
    let snapshots: Snapshots
    /// What wakes the processes of one machine; `nil`: this machine's processes share no folder.
    let doorbell: Doorbell?
    let wakeups: Wakeups
    /// The last ring for work at each bucket before the last claim there.
    private let claims = Claims()

    package init(
        writer: GroupWriter, worker: WorkerIdentity, locks: any WorkerLocks, suspension: MachineSuspension,
        time: any TimeSource, random: any RandomSource, wakeups: Wakeups, doorbell: Doorbell? = nil,
        afterStep: (@Sendable () async throws -> Void)? = nil, requireStill: @escaping @Sendable () throws -> Void,
        requireFlushes: @escaping @Sendable () throws -> Void = {},
        giveBack: (@Sendable (Connection) throws -> Bool)? = nil, read: @escaping Snapshots.Read
    ) {
        self.writer = writer
        self.worker = worker
        self.locks = locks
        self.suspension = suspension
        self.time = time
        self.random = random
        self.wakeups = wakeups
        self.doorbell = doorbell
        self.afterStep = afterStep
        self.requireStill = requireStill
        self.requireFlushes = requireFlushes
        self.giveBack = giveBack
        leaseHorizon = LeaseHorizon(by: time)
        snapshots = Snapshots(time: time, locks: locks) { body in
            try writer.refuseClosed()
            do {
                try await read(body)
            } catch {
                // What a reading meets while its store is closed, such as a log that is gone, says nothing about the store.
                try writer.refuseClosed()
                throw error
            }
        }
    }

    /// Whether it was rung for work at `bucket` since the last claim there: then there is something to take, most likely, and
    /// a read-only check would be one read more.
    func wasRungFor(_ bucket: Int) -> Bool {
        let last = wakeups.lastRing(for: .work, at: bucket)
        return claims.last.withLock { $0.updateValue(last, forKey: bucket) } != last
    }

    /// Finishes what was begun, gives back what this process has leased, and ends the writer. The process is no worker any more then.
    ///
    /// - Parameters:
    ///   - patience: how long that may wait for the right to write; `nil`: as long as a call.
    ///   - unregister: removes the worker's row, outside of a transaction, when it holds nothing. Should the row stay, the lock
    ///     that goes with this process says all the same that it is no more, and the next process that reclaims removes the row.
    /// - Throws: what the engine reported when the leases could not be given back. The writer has ended all the same.
    package func close(
        patience: Duration? = nil, unregister: @escaping @Sendable (Connection) throws -> Void
    ) async throws {
        defer { worker.die() }
        try await writer.close(
            unless: { [worker] connection in
                guard let id = worker.id else { return true }
                if try Reclaiming.hasLeases(id, connection) { return false }
                try unregister(connection)
                return true
            }, patience: patience
        ) { [worker] transaction in
            guard let id = worker.id else { return }
            try Reclaiming.releaseAll(of: id, in: transaction)
            try worker.unregister(transaction.connection)
            transaction.onCommit { worker.letGo() }
        }
    }

    private final class Claims: Sendable {
        let last = Mutex<[Int: Wakeups.Token]>([:])
    }
}
