internal import Logging
internal import PenstockCore

/// Forgets what retention lets go, while a worker runs. A queue that is worked needs nobody to prune it by hand.
struct Pruner: Sendable {
    let handle: StoreHandle

    /// One round in a minute, shared by all workers of the process; each is small steps between which others get their
    /// turn. A round that fails is no reason to stop working: the next one makes it good.
    func tidy() async {
        guard handle.pruneGate.tryPass() else { return }
        do {
            while try await handle.storage.prune(PruneRequest()).hasMore {
                try Task.checkCancellation()
            }
        } catch is CancellationError {
            // The worker stops, and what is left is for another one.
        } catch let error as PenstockError where error.code == .storeMoved {
            // The next claim says so.
        } catch {
            handle.logger.warning("nothing pruned; trying again in a minute", metadata: ["error": "\(error)"])
        }
    }
}
