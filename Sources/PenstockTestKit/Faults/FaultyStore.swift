public import PenstockCore
import Synchronization

/// A store that fails when a test says so, and otherwise hands every call to another one.
///
/// A fault strikes either before the call reaches the store, as a full disk does, or after it took effect, as when a
/// process dies before it hears of its own commit:
///
/// ```swift
/// let store = FaultyStore(InMemoryStore(time: time))
/// store.fail(.settle, at: 2, .after, with: PenstockError(.diskFull, "No room."))
/// ```
///
/// It also counts calls, so that a test can wait until one was made.
public final class FaultyStore: MessageStore {
    /// The kinds of call that can fail.
    public enum Call: String, Sendable, CaseIterable {
        /// `enqueue`
        case enqueue
        /// `claim`
        case claim
        /// `settle`
        case settle
        /// `extend`
        case extend
        /// `reclaim`
        case reclaim
        /// `append`
        case append
        /// `log`
        case log
        /// `moveCursor`
        case moveCursor
        /// `messages`
        case messages
        /// `status`
        case status
        /// `configure`
        case configure
        /// `apply`
        case apply
        /// `prune`
        case prune
        /// `close`
        case close
    }

    /// On which side of a call's effect it fails.
    public enum Side: Sendable {
        /// The call changes nothing, and fails.
        case before
        /// The call takes effect, and fails all the same.
        case after
    }

    private struct Fault {
        var call: Call
        var count: Int
        var side: Side
        var error: PenstockError
    }

    private let base: any MessageStore
    private let faults = Mutex<[Fault]>([])
    private let tallies = Dictionary(uniqueKeysWithValues: Call.allCases.map { ($0, Tally()) })

    /// Makes a store that hands every call to `base`.
    public init(_ base: any MessageStore) {
        self.base = base
    }

    /// The bell of the store underneath.
    public var changes: Wakeups { base.changes }

    /// As the store's.
    public var lookInterval: Duration { base.lookInterval }

    /// Lets a call fail: the `nth` one of its kind from now on, 1 being the next.
    public func fail(
        _ call: Call,
        at nth: Int = 1,
        _ side: Side = .before,
        with error: PenstockError = PenstockError(.storage, "The storage failed because a test wants it to.")
    ) {
        precondition(nth >= 1, "The next call is number 1.")
        let fault = Fault(call: call, count: calls(of: call).count + nth, side: side, error: error)
        faults.withLock { $0.append(fault) }
    }

    /// No call fails any more that was to.
    public func heal() {
        faults.withLock { $0 = [] }
    }

    /// How often a kind of call was made. Counted before the call reaches the store underneath.
    public func calls(of call: Call) -> Tally {
        // Every case has one since `init`.
        tallies[call, default: Tally()]
    }

    private func pass<Answer>(_ call: Call, _ body: () async throws -> Answer) async throws -> Answer {
        let count = calls(of: call).add()
        let fault = faults.withLock { faults in
            faults.firstIndex { $0.call == call && $0.count == count }.map { faults.remove(at: $0) }
        }
        guard let fault else { return try await body() }
        if fault.side == .after { _ = try await body() }
        throw fault.error
    }

    /// Hands the call on, or fails.
    public func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        try await pass(.enqueue) { try await base.enqueue(messages, to: queue, durability: durability) }
    }

    /// Hands the call on, or fails.
    public func claim(_ request: ClaimRequest) async throws -> Claim {
        try await pass(.claim) { try await base.claim(request) }
    }

    /// Hands the call on, or fails.
    public func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        try await pass(.settle) { try await base.settle(settlements) }
    }

    /// Hands the call on, or fails.
    public func extend(_ leases: [Lease], by duration: Duration) async throws -> [Bool] {
        try await pass(.extend) { try await base.extend(leases, by: duration) }
    }

    /// Hands the call on, or fails.
    public func reclaim() async throws -> Reclaimed {
        try await pass(.reclaim) { try await base.reclaim() }
    }

    /// Hands the call on, or fails.
    public func append(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability
    ) async throws -> [Receipt] {
        try await pass(.append) {
            try await base.append(messages, to: queue, unless: cursor, durability: durability)
        }
    }

    /// Hands the call on, or fails.
    public func log(_ query: LogQuery) async throws -> LogPage {
        try await pass(.log) { try await base.log(query) }
    }

    /// Hands the call on, or fails.
    @discardableResult
    public func moveCursor(
        _ cursor: CursorName, of queue: QueueName, _ move: CursorMove
    ) async throws -> CursorRecord? {
        try await pass(.moveCursor) { try await base.moveCursor(cursor, of: queue, move) }
    }

    /// Hands the call on, or fails.
    public func messages(_ query: MessageQuery) async throws -> [MessageRecord] {
        try await pass(.messages) { try await base.messages(query) }
    }

    /// Hands the call on, or fails.
    public func status(of queue: QueueName?) async throws -> StoreStatus {
        try await pass(.status) { try await base.status(of: queue) }
    }

    /// Hands the call on, or fails.
    public func configure(_ queue: QueueName, _ change: QueueChange) async throws {
        try await pass(.configure) { try await base.configure(queue, change) }
    }

    /// Hands the call on, or fails.
    public func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try await pass(.apply) { try await base.apply(command, to: selection) }
    }

    /// Hands the call on, or fails.
    public func prune(_ request: PruneRequest) async throws -> Pruned {
        try await pass(.prune) { try await base.prune(request) }
    }

    /// Hands the call on, or fails.
    public func close() async throws {
        try await pass(.close) { try await base.close() }
    }
}
