internal import Logging
package import PenstockCore

extension PenstockStore {
    /// Looks after the whole store as a worker does, for a program that claims for others: it puts lost work back in line, forgets what
    /// retention lets go, and fires the schedules of queues that nobody works. Returns when the task is cancelled.
    ///
    /// - Throws: `fileReplaced`: another file has the store's name, or none, and no call here can see it; `storage` when its disk has failed
    ///   to keep what was written, and only a store that is opened anew can be relied on.
    package func keepUp() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await Upkeep(handle: handle).run(until: Latch()) }
            // Past the gate, which claims keep shut: what they would be told of a store that is gone their clients are told.
            group.addTask { try await look("for lost work") { _ = try await handle.storage.reclaim() } }
            while try await group.next() != nil {}
        }
    }

    /// Looks whether the store is still there, for a program that only reads. Returns when the task is cancelled.
    ///
    /// - Throws: as ``keepUp()``.
    package func watch() async throws {
        try await look("whether the store is there") { _ = try await handle.storage.storeMove() }
    }

    /// Looks every five seconds until the task is cancelled, or no later look of this process can find more.
    private func look(_ purpose: String, _ look: () async throws -> Void) async throws {
        repeat {
            do {
                try await look()
            } catch let error as PenstockError where error.code == .fileReplaced || error.needsReopening {
                throw error
            } catch {
                // The look was cut short, and none comes after it.
                if Task.isCancelled { return }
                handle.logger.warning("no look \(purpose); trying again", metadata: ["error": "\(error)"])
            }
        } while (try? await handle.time.sleep(for: .seconds(5))) != nil
    }

    /// Looks for lost work, unless somebody of this process has within half a second.
    ///
    /// - Throws: what the store throws.
    package func reclaimIfDue() async throws {
        if handle.reclaimGate.tryPass() { _ = try await handle.storage.reclaim() }
    }

    /// Tells of rows that a claim for another program has set aside. That program is not told of them.
    package func tell(of setAside: [SetAsideRow]) { handle.tell(of: setAside) }
}
