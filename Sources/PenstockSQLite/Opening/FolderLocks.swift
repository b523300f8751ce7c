import PenstockCore
import PenstockProcesses
import PenstockSQL

/// The locks of workers that share a file: each locks a file of its own in the folder beside the database.
struct FolderLocks: WorkerLocks {
    let folder: SharedFolder

    func look(_ connection: Connection) throws -> any WorkerSights { FolderSights(folder: folder) }
    func take() throws -> any HeldWorkerLock { try WorkerLock(in: folder) }
    func removeLeft(_ name: String) { WorkerLock.removeFile(name, in: folder) }
    func removeAbandoned() { WorkerLock.removeAbandoned(in: folder) }
}

/// Asks the kernel about each lock when it is asked about.
struct FolderSights: WorkerSights {
    let folder: SharedFolder

    func sight(of name: String) -> WorkerLock.Sight { WorkerLock.sight(of: name, in: folder) }
}
