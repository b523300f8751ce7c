import PenstockCore
package import PenstockProcesses

/// The locks by which the processes that share a store see of each other that they live. Each engine has its own kind.
package protocol WorkerLocks: Sendable {
    /// Looks which of them are held, at one moment.
    func look(_ connection: Connection) throws -> any WorkerSights
    /// Looks once more, after a look by which a worker is dead: for locks that a living process may have lost for a moment, with
    /// its connections.
    ///
    /// - Returns: `nil` when nobody loses such a lock while alive.
    func lookAgain(_ connection: Connection) throws -> (any WorkerSights)?
    /// Takes one that no other process has.
    func take() throws -> any HeldWorkerLock
    /// Lets go of what a dead worker's lock has left behind.
    func removeLeft(_ name: String)
    /// Lets go of what was left behind by workers of which there is no row.
    func removeAbandoned()
}

extension WorkerLocks {
    /// A lock of the kernel goes with its process and not before.
    package func lookAgain(_ connection: Connection) throws -> (any WorkerSights)? { nil }
}

/// Which workers live, as one look has found.
package protocol WorkerSights {
    /// Whether it can be seen from here which processes live.
    var seesProcesses: Bool { get }
    /// Whether the process lives that holds the lock `name`, and what it says.
    func sight(of name: String) -> WorkerLock.Sight
}

extension WorkerSights {
    package var seesProcesses: Bool { true }
}

/// A lock that this process holds. It goes with the object, as at the death of the process.
package protocol HeldWorkerLock: AnyObject, Sendable {
    var name: String { get }
    /// Lets go in good order, and leaves nothing behind.
    func remove()
    /// Says at `moment` that this process asks for more time for its leases; `nil`: that it does not ask any more.
    func ask(at moment: Int64?)
}

/// A worker's file beside a database. The kernel unlocks it with its process.
extension WorkerLock: HeldWorkerLock {}
