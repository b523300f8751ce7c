import Foundation
import PenstockProcesses
import PenstockSQL

/// The locks of workers that share a database: advisory locks of their sessions. The server lets go of them when the process or
/// its host is gone, as it does of all that a session holds.
struct SessionLocks: WorkerLocks {
    /// The number of this process's lock, of the system's own generator: two processes of one seed must not have one lock.
    let id = Int32.random(in: 0 ... .max)

    func look(_ connection: Connection) throws -> any WorkerSights {
        // Sessions are at the primary, and the table of the server's lives, which is not logged, as well.
        if try (connection as? PostgresConnection)?.isStandby() == true {
            return SessionSights(held: [], seesProcesses: false)
        }
        let held = try connection.all(Self.selectHeld) { Self.prefix + String($0.integer(0)) }
        let returning = try connection.all(Self.selectReturning, .integer(Self.returnTime)) { $0.text(0) ?? "" }
        return SessionSights(held: Set(held + returning))
    }

    /// A process whose connections were all ended, by an administrator or a break of the network, is back in a moment.
    func lookAgain(_ connection: Connection) throws -> (any WorkerSights)? {
        usleep(250_000)
        return try look(connection)
    }

    /// The sessions of this process have it already.
    func take() throws -> any HeldWorkerLock { HeldSessionLock(name: Self.prefix + String(id)) }

    func removeLeft(_ name: String) {}
    func removeAbandoned() {}

    private static let prefix = "session-"

    /// How long the workers of a server's last life have to come back to it, in microseconds: when it restarts all their locks are
    /// gone, and the first to come back must not take the others for dead.
    private static let returnTime: Int64 = 10_000_000
    private static let selectReturning = Query(
        """
        SELECT worker.lock_name FROM penstock_worker AS worker JOIN penstock_incarnation AS life ON worker.id <= life.last_worker
        WHERE life.begun_at > penstock_now() - ?1
        """)

    private static let selectHeld = Query(
        """
        SELECT DISTINCT CAST(objid AS BIGINT) FROM pg_locks WHERE \(Sessions.isHeld(Sessions.lockClass))
        """)
}

private struct SessionSights: WorkerSights {
    let held: Set<String>
    var seesProcesses = true

    // Nobody asks for more time here: a process that the server kept waiting for long counts no ends of leases (`Stalls`).
    func sight(of name: String) -> WorkerLock.Sight { WorkerLock.Sight(isHeld: held.contains(name)) }
}

private final class HeldSessionLock: HeldWorkerLock {
    let name: String

    init(name: String) { self.name = name }

    func remove() {}
    func ask(at moment: Int64?) {}
}
