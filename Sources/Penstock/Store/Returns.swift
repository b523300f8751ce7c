internal import Logging
internal import PenstockCore
internal import Synchronization

/// Gives messages back that were claimed and never handed out, when nobody is left who could await it: their reader
/// was let go, and a `deinit` cannot wait. These tasks belong to the store, and closing it waits for them.
final class Returns: Sendable {
    private let storage: any MessageStore
    private let logger: Logger
    private let running = Mutex<[Int: Task<Void, Never>]>([:])
    private let nextID = Atomic(0)

    init(storage: any MessageStore, logger: Logger) {
        self.storage = storage
        self.logger = logger
    }

    /// Releases `leases` in a task of its own.
    func begin(_ leases: [Lease]) {
        guard !leases.isEmpty else { return }
        let id = nextID.wrappingAdd(1, ordering: .relaxed).newValue
        // Inside the lock, so that the task finds itself in the list when it ends.
        running.withLock { running in
            running[id] = Task {
                await self.release(leases)
                _ = self.running.withLock { $0.removeValue(forKey: id) }
            }
        }
    }

    /// Releases `leases`, also for a task that is cancelled, and returns when that is done.
    func complete(_ leases: [Lease]) async {
        guard !leases.isEmpty else { return }
        await Task { await release(leases) }.value
    }

    /// Returns when everything that was begun is done.
    func finish() async {
        for task in running.withLock({ Array($0.values) }) { await task.value }
    }

    private func release(_ leases: [Lease]) async {
        do {
            _ = try await storage.settle(leases.map { Settlement($0, .release) })
        } catch {
            // Not lost: the leases end by themselves, or with the process.
            logger.warning("messages not given back", metadata: ["count": "\(leases.count)", "error": "\(error)"])
        }
    }
}
