internal import Logging
internal import PenstockCore
internal import Synchronization

/// Says of a worker's queues once that they are being deleted: claims from such a queue are not refused, they give nothing, also when
/// the process that deletes it was killed and nobody goes on with it.
final class DeletionNotice: Sendable {
    private struct State {
        /// Those that are still looked at.
        var queues: [QueueName]
        var told: Set<QueueName> = []
    }

    private let state: Mutex<State>
    private let isDeleting: @Sendable (QueueName) async throws -> Bool
    private let say: @Sendable (String) -> Void

    /// - Parameters:
    ///   - isDeleting: whether a queue is being deleted, or is copied here and not all of it has come.
    ///   - say: told the sentence.
    init(
        of queues: [QueueName], isDeleting: @escaping @Sendable (QueueName) async throws -> Bool,
        say: @escaping @Sendable (String) -> Void
    ) {
        state = Mutex(State(queues: queues))
        self.isDeleting = isDeleting
        self.say = say
    }

    /// Makes one of a worker's queues, which says it by the store's logger.
    convenience init(of queues: [QueueName], _ handle: StoreHandle) {
        self.init(of: queues) { queue in
            try await handle.storage.status(of: queue).queue(queue).isDeleting
        } say: { sentence in
            handle.logger.warning("\(sentence)")
        }
    }

    /// Begins the first look, beside the worker: its start waits for nothing.
    func beginLook() -> Task<Void, Never> {
        ownTask { await self.look() }
    }

    /// Waits for the end of a look, which is cancelled where it is not wanted to its end, or the caller is cancelled.
    func end(_ look: Task<Void, Never>, isWanted: Bool) async {
        if !isWanted { look.cancel() }
        await withTaskCancellationHandler {
            await look.value
        } onCancel: {
            look.cancel()
        }
    }

    /// Looks at each queue once. One of which this worker may not know that is left out from then on.
    func look() async {
        for queue in state.withLock({ $0.queues }) {
            do {
                let gives = try await !isDeleting(queue)
                let isNews = state.withLock { state in
                    if gives {
                        state.told.remove(queue)
                        return false
                    }
                    return state.told.insert(queue).inserted
                }
                if isNews {
                    say(
                        "The queue '\(queue)' is being deleted, or copied here and not all of it has come, and gives nothing; "
                            + "if no program is at it, finish that: `penstock doctor` says how.")
                }
            } catch let error as PenstockError where error.code == .forbidden {
                state.withLock { $0.queues.removeAll { $0 == queue } }
            } catch {
                // The worker itself tells of a queue that is gone, and of a store that fails.
            }
        }
    }
}
