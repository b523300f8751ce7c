internal import Logging
internal import PenstockCore
internal import Synchronization

/// Says of the queues that workers of this process work once that they are being deleted: claims from such a queue are not refused, they
/// give nothing, also when the process that deletes it was killed and nobody goes on with it.
///
/// All workers of a store look together, once a minute: a look at a queue goes through all that workers have in hand, and a program may
/// have hundreds of workers, or of queues.
final class DeletionNotice: Sendable {
    private struct State {
        /// How many workers work each.
        var workerCounts: [QueueName: Int] = [:]
        var told: Set<QueueName> = []
    }

    private let state = Mutex(State())
    private let gate: RateGate
    private let deleting: @Sendable (QueueName?) async throws -> Set<QueueName>
    private let say: @Sendable (String) -> Void

    /// - Parameters:
    ///   - deleting: which queues are being deleted, or are copied here and have not come whole: of all, or of that one.
    ///   - say: told the sentence.
    init(
        time: any TimeSource, deleting: @escaping @Sendable (QueueName?) async throws -> Set<QueueName>,
        say: @escaping @Sendable (String) -> Void
    ) {
        gate = RateGate(RateGate.pruneInterval, time: time)
        self.deleting = deleting
        self.say = say
    }

    /// Makes one of a store, which says it by its logger.
    convenience init(_ storage: any MessageStore, time: any TimeSource, logger: Logger) {
        self.init(time: time) { queue in
            Set(try await storage.status(of: queue).queues.filter(\.isDeleting).map(\.name))
        } say: { sentence in
            logger.warning("\(sentence)")
        }
    }

    /// Called when a worker begins to work these.
    func begin(_ queues: [QueueName]) {
        state.withLock { state in
            for queue in queues { state.workerCounts[queue, default: 0] += 1 }
        }
    }

    /// Called when a worker ends. The next one of such a queue is told of it anew.
    func end(_ queues: [QueueName]) {
        state.withLock { state in
            for queue in queues {
                let left = state.workerCounts[queue, default: 0] - 1
                state.workerCounts[queue] = left > 0 ? left : nil
                if left <= 0 { state.told.remove(queue) }
            }
        }
    }

    /// Whether the caller is to look at all that is worked, as no other worker has begun to within the last minute.
    func tryPass() -> Bool {
        if state.withLock({ $0.workerCounts.isEmpty }) { return false }
        return gate.tryPass()
    }

    /// Looks at all queues that are worked.
    func look() async {
        await look(at: state.withLock { Array($0.workerCounts.keys) })
    }

    /// Begins a look at a worker's queues, beside the worker: its start waits for nothing. Where one is due it is at those of all.
    func beginLook(at queues: [QueueName]) -> Task<Void, Never> {
        let isForAll = gate.tryPass()
        return ownTask {
            if isForAll { await self.look() } else { await self.look(at: queues) }
        }
    }

    /// Waits for the end of a look, which is cancelled where the caller is cancelled.
    func wait(for look: Task<Void, Never>) async {
        await withTaskCancellationHandler {
            await look.value
        } onCancel: {
            look.cancel()
        }
    }

    /// Looks at these, by one reading if it may.
    private func look(at queues: [QueueName]) async {
        if queues.count > 1 {
            do {
                let all = try await deleting(nil)
                for queue in queues { note(queue, isDeleting: all.contains(queue)) }
                return
            } catch let error as PenstockError where error.code == .forbidden {
                // A token for some queues may know of each of these.
            } catch {
                // The workers themselves tell of a store that fails.
                return
            }
        }
        for queue in queues {
            // Its worker itself tells of a queue that is gone, and of a store that fails. Of one that it may not look at nothing is said.
            if let found = try? await deleting(queue) { note(queue, isDeleting: found.contains(queue)) }
        }
    }

    private func note(_ queue: QueueName, isDeleting: Bool) {
        let isNews = state.withLock { state in
            guard isDeleting else {
                state.told.remove(queue)
                return false
            }
            // Its worker may have ended meanwhile.
            return state.workerCounts[queue] != nil && state.told.insert(queue).inserted
        }
        guard isNews else { return }
        say(
            "The queue '\(queue)' is being deleted, or copied here and not all of it has come, and gives nothing; "
                + "if no program is at it, finish that: `penstock doctor` says how.")
    }
}
