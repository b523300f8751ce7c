internal import Logging
internal import PenstockCore

extension PenstockStore {
    /// Looks after the whole store as a worker does, for a program that claims for others: it puts lost work back in line, forgets what
    /// retention lets go, and fires the schedules of queues that nobody works. Returns when the task is cancelled.
    package func keepUp() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await Upkeep(handle: handle).run(until: Latch()) }
            group.addTask {
                repeat {
                    do {
                        try await reclaimIfDue()
                    } catch {
                        handle.logger.warning("no look for lost work; trying again", metadata: ["error": "\(error)"])
                    }
                } while (try? await handle.time.sleep(for: .seconds(5))) != nil
            }
        }
    }

    /// Looks for lost work, unless somebody of this process has within half a second.
    ///
    /// - Throws: what the store throws.
    package func reclaimIfDue() async throws {
        if handle.reclaimGate.tryPass() { _ = try await handle.storage.reclaim() }
    }
}
