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

    /// A task that is still suspended when its test is over holds its executor unowned: they stay, all of them.
    private static let all = Mutex<[Stillness]>([])

    private let queue = DispatchQueue(label: "stillness", attributes: .concurrent)
    private let state = Mutex(State())

    init() {
        Self.all.withLock { $0.append(self) }
    }

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

/// A store whose calls count as under way until they are answered, and that can be cut off: after so many calls nothing
/// takes effect any more, as when a process dies.
final class WatchedStore: MessageStore {
    private let base: any MessageStore
    private let stillness: Stillness
    /// How many more calls take effect; `nil`: all.
    private let callsLeft = Mutex<Int?>(nil)

    init(base: any MessageStore, stillness: Stillness) {
        self.base = base
        self.stillness = stillness
    }

    var changes: Wakeups { base.changes }

    /// Whether all calls fail by now.
    var isCut: Bool { callsLeft.withLock { $0.map { $0 < 0 } ?? false } }

    func cut(after count: Int) {
        callsLeft.withLock { $0 = count }
    }

    private func watch<Answer>(_ call: () async throws -> Answer) async throws -> Answer {
        stillness.begin()
        defer { stillness.end() }
        let mayPass = callsLeft.withLock { left in
            guard let count = left else { return true }
            left = max(-1, count - 1)
            return count > 0
        }
        guard mayPass else { throw PenstockError(.closed, "The store is cut off because a test wants it to be.") }
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

    func append(
        _ messages: [NewMessage], to queue: QueueName, unless ending: CursorName?, durability: Durability
    ) async throws -> [Receipt] {
        try await watch { try await base.append(messages, to: queue, unless: ending, durability: durability) }
    }

    func log(_ query: LogQuery) async throws -> LogPage {
        try await watch { try await base.log(query) }
    }

    func moveCursor(_ cursor: CursorName, of queue: QueueName, _ move: CursorMove) async throws -> CursorRecord? {
        try await watch { try await base.moveCursor(cursor, of: queue, move) }
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
