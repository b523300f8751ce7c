import PenstockCore
import PenstockProcesses

/// The workers that are there, as whoever looks can tell: for the status, the doctor and the reason why a message waits.
///
/// Of a process the kernel says whether it lives. The row of a remote worker is no sign of it: it stays until somebody reclaims, and
/// that may be never. So it is there while it asks for messages, and while it holds a lease that has not ended.
struct LivingWorkers {
    private let ids: Set<Int64>
    /// Those of which nobody can tell here.
    private let unseen: Set<Int64>

    init(_ connection: Connection, at time: any TimeSource, _ locks: any WorkerLocks) throws {
        let workers = try WorkerRow.all(connection)
        let (now, boot) = (time.now, time.boot)
        let isAnySilent = workers.contains { RemoteWorkers.isSilent($0, at: now) }
        let ends = isAnySilent ? try RemoteWorkers.lastEnds(at: boot, now, connection) : [:]
        let sights = try locks.look(connection)
        let living = workers.filter { worker in
            if RemoteWorkers.isSilent(worker, at: now) {
                return ends[worker.id].map { $0 > boot.microseconds } ?? false
            }
            return !WorkerStanding(of: worker, at: boot, sights).isDead
        }
        unseen = sights.seesProcesses ? [] : Set(workers.filter { !$0.isRemote }.map(\.id))
        ids = Set(living.map(\.id))
    }

    /// Whether none is there, and none may be.
    var isEmpty: Bool { ids.isEmpty }

    /// Whether it is there; `nil`: nobody can tell here.
    func isAlive(_ id: Int64) -> Bool? { unseen.contains(id) ? nil : ids.contains(id) }
}
