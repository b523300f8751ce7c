import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization

/// A store that tells the executor when a call is under way elsewhere, and that can be cut off: after so many calls
/// nothing takes effect any more, as when a process dies.
final class WatchedStore: MessageStore {
    private let base: any MessageStore
    private let executor: IdleExecutor
    /// How many more calls take effect; `nil`: all.
    private let callsLeft: Mutex<Int?>
    let calls = Tally()

    init(_ base: any MessageStore, _ executor: IdleExecutor, cutAfter callsLeft: Int? = nil) {
        self.base = base
        self.executor = executor
        self.callsLeft = Mutex(callsLeft)
    }

    /// A bell of its own, rung where the call is made: the store's own may ring at any time, from any thread, and the
    /// executor would not know that somebody has been woken.
    let changes = Wakeups()

    /// Whether a call came after the cut.
    let isCut = Atomic(false)

    private func pass<Answer: Sendable>(_ call: @Sendable () async throws -> Answer) async throws -> Answer {
        let mayPass = callsLeft.withLock { left in
            guard let count = left else { return true }
            left = max(0, count - 1)
            return count > 0
        }
        guard mayPass else {
            isCut.store(true, ordering: .relaxed)
            throw PenstockError(.closed, "The store is cut off because a test wants it to be.")
        }
        calls.add()
        executor.leave()
        defer { executor.comeBack() }
        return try await call()
    }

    func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        let receipts = try await pass { try await self.base.enqueue(messages, to: queue, durability: durability) }
        changes.ring(queue)
        return receipts
    }
    func claim(_ request: ClaimRequest) async throws -> Claim { try await pass { try await self.base.claim(request) } }
    func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        let results = try await pass { try await self.base.settle(settlements) }
        changes.ring(nil)
        return results
    }
    func extend(_ leases: [Lease], by duration: Duration) async throws -> [Bool] {
        try await pass { try await self.base.extend(leases, by: duration) }
    }
    func reclaim() async throws -> Reclaimed { try await pass { try await self.base.reclaim() } }
    func append(
        _ messages: [NewMessage], to queue: QueueName, unless ending: CursorName?, durability: Durability
    ) async throws -> [Receipt] {
        try await pass { try await self.base.append(messages, to: queue, unless: ending, durability: durability) }
    }
    func log(_ query: LogQuery) async throws -> LogPage { try await pass { try await self.base.log(query) } }
    func moveCursor(_ cursor: CursorName, of queue: QueueName, _ move: CursorMove) async throws -> CursorRecord? {
        try await pass { try await self.base.moveCursor(cursor, of: queue, move) }
    }
    func messages(_ query: MessageQuery) async throws -> [MessageRecord] {
        try await pass { try await self.base.messages(query) }
    }
    func status(of queue: QueueName?) async throws -> StoreStatus {
        try await pass { try await self.base.status(of: queue) }
    }
    func configure(_ queue: QueueName, _ change: QueueChange) async throws {
        try await pass { try await self.base.configure(queue, change) }
    }
    func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try await pass { try await self.base.apply(command, to: selection) }
    }
    func prune(_ request: PruneRequest) async throws -> Pruned { try await pass { try await self.base.prune(request) } }
    func close() async throws { try await pass { try await self.base.close() } }
}
