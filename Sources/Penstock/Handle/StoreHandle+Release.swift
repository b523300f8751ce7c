internal import Logging
internal import PenstockCore

/// Giving messages back that were claimed and that nobody works on.
extension StoreHandle {
    /// Releases leases in a task of the store's own, for a `deinit`, which cannot wait.
    func beginRelease(_ leases: [Lease]) {
        if leases.isEmpty { return }
        backgroundTasks.begin { await self.settleReleased(leases) }
    }

    /// Releases leases, also for a task that is cancelled, and returns when that is done.
    func release(_ leases: [Lease]) async {
        if leases.isEmpty { return }
        await Task { await settleReleased(leases) }.value
    }

    private func settleReleased(_ leases: [Lease]) async {
        do {
            _ = try await storage.settle(leases.map { Settlement($0, .release) })
        } catch {
            // Not lost: the leases end by themselves, or with the process.
            logger.warning("messages not given back", metadata: ["count": "\(leases.count)", "error": "\(error)"])
        }
    }
}
