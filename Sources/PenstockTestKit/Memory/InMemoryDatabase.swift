public import PenstockCore
import Synchronization

/// What several ``InMemoryStore`` handles share, as processes share a file.
///
/// ```swift
/// let database = InMemoryDatabase(time: time)
/// let producer = database.open()
/// let worker = database.open()
/// ```
public final class InMemoryDatabase: Sendable {
    private struct Contents {
        var state = MemoryState()
        var bells: [Int64: Wakeups] = [:]
    }

    private let contents = Mutex(Contents())
    private let time: any TimeSource
    private let random: any RandomSource

    /// Makes an empty one.
    ///
    /// - Parameters:
    ///   - time: the clocks by which messages are due and leases end.
    ///   - random: where lease tokens and the jitter of retries come from.
    public init(time: any TimeSource = SystemTime(), random: any RandomSource = SystemRandom()) {
        self.time = time
        self.random = random
    }

    /// Opens one more handle: to the others it is another process.
    ///
    /// - Parameter afterStep: is called between the steps of a deletion, which ends with what it throws. So a test sees
    ///   what others see meanwhile.
    public func open(afterStep: (@Sendable () async throws -> Void)? = nil) -> InMemoryStore {
        let startedAt = time.now
        return contents.withLock { contents in
            contents.state.lastWorker += 1
            let id = contents.state.lastWorker
            contents.state.workers[id] = MemoryWorker(
                name: "memory:\(id)", processID: Int32(truncatingIfNeeded: id), startedAt: startedAt)
            let bell = Wakeups()
            contents.bells[id] = bell
            return InMemoryStore(database: self, id: id, changes: bell, afterStep: afterStep)
        }
    }

    /// Carries out one operation of the handle `worker`, as a whole, and then rings for what it changed.
    ///
    /// - Throws: what `operation` throws; it must not have changed anything then. `closed` when the handle was closed.
    func act<Answer: Sendable>(
        as worker: Int64, _ operation: (inout MemoryState, Moment) throws(PenstockError) -> Answer
    ) throws -> Answer {
        try Task.checkCancellation()
        let (answer, rung, noticed, bells) = try contents.withLock { contents throws(PenstockError) in
            guard contents.bells[worker] != nil else {
                throw PenstockError(.closed, "The store was closed; open it again.")
            }
            // The clock is read with the lock held, so that times rise with sequence numbers.
            let moment = Moment(now: time.now, boot: time.boot, random: random)
            let answer = try operation(&contents.state, moment)
            return (
                answer, contents.state.takeRung(), contents.state.takeNoticed(), Array(contents.bells.values)
            )
        }
        ring(bells, for: rung)
        for bell in bells { for queue in noticed { bell.notify(queue) } }
        return answer
    }

    /// Ends a handle. `inGoodOrder` gives back what it holds; a dead process only loses its lock, and is not heard
    /// of until somebody looks.
    func end(_ worker: Int64, inGoodOrder: Bool) {
        let (ended, rung, bells) = contents.withLock { contents in
            guard let ended = contents.bells.removeValue(forKey: worker) else {
                return (nil as Wakeups?, [QueueName: Wakeups.Change](), [Wakeups]())
            }
            if inGoodOrder {
                contents.state.leave(worker, at: Moment(now: time.now, boot: time.boot, random: random))
            } else {
                contents.state.workers[worker]?.isAlive = false
            }
            return (ended, contents.state.takeRung(), Array(contents.bells.values))
        }
        ring(bells, for: rung)
        // Those who wait look once more, and learn that the store was closed.
        ended?.ring(nil)
    }

    private func ring(_ bells: [Wakeups], for rung: [QueueName: Wakeups.Change]) {
        for bell in bells {
            for (queue, change) in rung { bell.ringAll(at: RingBucket.of(queue), for: change) }
        }
    }
}
