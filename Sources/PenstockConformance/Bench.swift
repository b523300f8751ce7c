import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

/// Where a case is carried out: a harness, and the handles that were opened on it.
final class Bench: StoreHarness {
    private let harness: any StoreHarness
    private let opened = Mutex<[any MessageStore]>([])

    init(_ harness: any StoreHarness) {
        self.harness = harness
    }

    var time: ManualTime { harness.time }

    /// One more process on the same data.
    func open() async throws -> any MessageStore {
        let store = try await harness.open()
        opened.withLock { $0.append(store) }
        return store
    }

    /// One more process, which lets `afterStep` run between the steps of what it does.
    func open(afterStep: @escaping @Sendable () async throws -> Void) async throws -> any MessageStore {
        let store = try await harness.open(afterStep: afterStep)
        opened.withLock { $0.append(store) }
        return store
    }

    var hasSteps: Bool { harness.hasSteps }

    /// A process, and in the store a queue called `jobs` with that policy.
    func open(_ policy: QueuePolicy) async throws -> any MessageStore {
        let store = try await open()
        try await store.configure(.jobs, .create(policy, ifAbsent: true))
        return store
    }

    /// The same, and beside it a queue called `mail`.
    func open(_ policy: QueuePolicy, mail: QueuePolicy) async throws -> any MessageStore {
        let store = try await open(policy)
        try await store.configure(.mail, .create(mail, ifAbsent: false))
        return store
    }

    /// Two processes, and in the store a queue called `jobs` with that policy.
    func openTwo(_ policy: QueuePolicy) async throws -> (any MessageStore, any MessageStore) {
        (try await open(policy), try await open())
    }

    /// Kills a process.
    func crash(_ store: any MessageStore) async throws {
        opened.withLock { $0.removeAll { $0 as AnyObject === store as AnyObject } }
        try await harness.crash(store)
    }

    /// Closes what is still open, so that no case leaves files behind.
    func closeAll() async {
        for store in opened.withLock({ $0 }) { try? await store.close() }
    }
}

extension QueueName {
    /// The queue that most cases use.
    static let jobs = QueueName(stored: "jobs")
    /// Another queue, which must not notice.
    static let mail = QueueName(stored: "mail")
}

extension QueuePolicy {
    /// Retries without chance: 1 s, 2 s, 4 s, 8 s, 8 s, … What else it says is for `change` to set.
    static func steady(
        _ capacity: Int? = nil, _ whenFull: OverflowPolicy = .fail, attemptsMax: Int = 3,
        change: (inout QueuePolicy) -> Void = { _ in }
    ) -> QueuePolicy {
        var policy = QueuePolicy(
            capacity: capacity.map { Capacity($0, whenFull: whenFull) },
            retry: RetryPolicy(attemptsMax: attemptsMax, base: .seconds(1), factor: 2, cap: .seconds(8), jitter: 0))
        change(&policy)
        return policy
    }
}

extension NewMessage {
    /// A message with a text for a payload.
    static func text(
        _ text: String, priority: Int = 0, due: Due = .now, attemptsMax: Int? = nil, key: String? = nil,
        onConflict: KeyConflict = .skip, group: String? = nil, expiry: Expiry? = nil
    ) -> NewMessage {
        NewMessage(
            payload: Array(text.utf8), priority: priority, due: due, attemptsMax: attemptsMax,
            uniqueKey: key.map { UniqueKey($0, onConflict: onConflict) }, group: group, expiry: expiry)
    }

    /// A message with key `k`.
    static func keyed(
        _ text: String, _ scope: KeyScope = .untilEnded, _ onConflict: KeyConflict = .skip, due: Due = .now,
        waitMax: Duration? = nil, group: String? = nil
    ) -> NewMessage {
        NewMessage(
            payload: Array(text.utf8), due: due,
            uniqueKey: UniqueKey("k", scope: scope, onConflict: onConflict, waitMax: waitMax), group: group)
    }
}

extension ScheduleName {
    /// The schedule that most cases use.
    static let nightly = ScheduleName(stored: "nightly")
}

extension Schedule {
    /// A schedule whose message has a text for a payload.
    static func of(
        _ spec: String, queue: QueueName = .jobs, _ text: String = "report", missed: MissedFirings = .one,
        key: String? = nil
    ) -> Schedule {
        Schedule(queue: queue, spec: spec, message: .text(text, key: key), missed: missed)
    }
}

extension ClaimedMessage {
    var text: String { String(decoding: payload, as: UTF8.self) }
    var sequence: SequenceNumber { lease.sequence }
}

extension MessageRecord {
    var text: String? { payload.map { String(decoding: $0, as: UTF8.self) } }
}

extension Depths {
    static func of(
        pending: Int = 0, scheduled: Int = 0, blocked: Int = 0, ready: Int = 0, leased: Int = 0, dead: Int = 0,
        kept: Int = 0
    ) -> Depths {
        var depths = Depths()
        depths.pending = pending
        depths.scheduled = scheduled
        depths.blocked = blocked
        depths.ready = ready
        depths.leased = leased
        depths.dead = dead
        depths.kept = kept
        return depths
    }
}

extension Totals {
    static func of(
        enqueued: Int = 0, done: Int = 0, dead: Int = 0, dropped: Int = 0, cancelled: Int = 0, retried: Int = 0,
        reclaimed: Int = 0
    ) -> Totals {
        var totals = Totals()
        totals.enqueued = enqueued
        totals.done = done
        totals.dead = dead
        totals.dropped = dropped
        totals.cancelled = cancelled
        totals.retried = retried
        totals.reclaimed = reclaimed
        return totals
    }
}
