import Dispatch
import PenstockCore
import Synchronization

/// Runs a stream's tasks and watches its calls to the store, and tells when nothing can go on by itself: the signal
/// that it is time to move the clocks.
final class Stillness: TaskExecutor {
    private struct State {
        /// Jobs that run or are about to, and calls that the store has not answered.
        var underWay = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let queue = DispatchQueue(label: "stillness", attributes: .concurrent)
    private let state = Mutex(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        begin()
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.end()
        }
    }

    func begin() {
        state.withLock { $0.underWay += 1 }
    }

    func end() {
        let waiters = state.withLock { state in
            state.underWay -= 1
            guard state.underWay == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns once nothing is under way.
    func wait() async {
        await withCheckedContinuation { waiter in
            let isStill = state.withLock { state in
                if state.underWay > 0 { state.waiters.append(waiter) }
                return state.underWay == 0
            }
            if isStill { waiter.resume() }
        }
    }
}

/// A store whose calls count as under way until they are answered.
struct WatchedStore: MessageStore {
    let base: any MessageStore
    let stillness: Stillness

    var changes: Wakeups { base.changes }

    private func watch<Answer>(_ call: () async throws -> Answer) async throws -> Answer {
        stillness.begin()
        defer { stillness.end() }
        return try await call()
    }

    func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        try await watch { try await base.enqueue(messages, to: queue, durability: durability) }
    }

    func claim(_ request: ClaimRequest) async throws -> Claim {
        try await watch { try await base.claim(request) }
    }

    func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        try await watch { try await base.settle(settlements) }
    }

    func extend(_ leases: [Lease], by duration: Duration) async throws -> [Bool] {
        try await watch { try await base.extend(leases, by: duration) }
    }

    func reclaim() async throws -> Reclaimed {
        try await watch { try await base.reclaim() }
    }

    func messages(_ query: MessageQuery) async throws -> [MessageRecord] {
        try await watch { try await base.messages(query) }
    }

    func status(of queue: QueueName?) async throws -> StoreStatus {
        try await watch { try await base.status(of: queue) }
    }

    func configure(_ queue: QueueName, _ change: QueueChange) async throws {
        try await watch { try await base.configure(queue, change) }
    }

    func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try await watch { try await base.apply(command, to: selection) }
    }

    func prune(_ request: PruneRequest) async throws -> Pruned {
        try await watch { try await base.prune(request) }
    }

    func close() async throws {
        try await watch { try await base.close() }
    }
}
