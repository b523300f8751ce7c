import PenstockCore
import PenstockProcesses
import PenstockSQL

/// The locks of workers that share a file: each locks a file of its own in the folder beside the database. The kernel is asked about
/// each lock when this is asked about it.
struct FolderLocks: WorkerLocks, WorkerSights {
    let folder: SharedFolder

    func look(_ connection: Connection) throws -> any WorkerSights { self }
    func sight(of name: String) -> WorkerLock.Sight { WorkerLock.sight(of: name, in: folder) }
    func take() throws -> any HeldWorkerLock { try WorkerLock(in: folder) }
    func removeLeft(_ name: String) { WorkerLock.removeFile(name, in: folder) }
    func removeAbandoned() { WorkerLock.removeAbandoned(in: folder) }
}
