import Penstock
import PenstockCore
import PenstockTestKit

/// A store, in memory unless another engine is named, with clocks that the test moves, whose calls are counted and can be made to fail.
struct Fixture {
    /// How many of its own tasks a worker has asleep while it works: the keeper of its leases, and the housekeeper.
    static let sleepersOfWorker = 2
    /// How many it has asleep that has never had a message: the housekeeper, and the look for work.
    static let sleepersOfIdleWorker = 2

    let time = ManualTime()
    let database: TestDatabase
    /// The store itself, by which a test looks at it, or does what others do.
    let base: any MessageStore
    let calls: FaultyStore
    let store: PenstockStore

    init(_ wrap: (any MessageStore) -> any MessageStore = { $0 }, options: PenstockStore.Options = .init()) {
        let random = SeededRandom(seed: 7)
        database = TestDatabase(time: time, random: random)
        base = database.open()
        calls = FaultyStore(wrap(base))
        var options = options
        options.time = time
        options.random = random
        store = PenstockStore(calls, options: options)
    }

    /// The queue "q" of numbers.
    func queue(policy: QueuePolicy? = nil) async throws -> Queue<Int> {
        try await store.queue("q", of: Int.self, policy: policy)
    }

    /// Runs `body`, and moves the clock meanwhile. It stands during each call of the store: a call to a server takes real time, and
    /// leases are not to end for that.
    func whileTimePasses<T: Sendable>(_ body: @Sendable () async throws -> T) async throws -> T {
        let hand = Task { [time, calls] in
            while !Task.isCancelled {
                if !calls.isUnderWay { time.advance(by: .milliseconds(100)) }
                await giveWay()
            }
        }
        defer { hand.cancel() }
        return try await body()
    }

    func record(_ receipt: Receipt) async throws -> MessageRecord {
        try await store.message(receipt.sequence)
    }

    func state(_ receipt: Receipt) async throws -> MessageState {
        try await record(receipt).state
    }
}

extension QueuePolicy {
    static func holding(_ count: Int, _ whenFull: OverflowPolicy) -> QueuePolicy {
        QueuePolicy(capacity: Capacity(count, whenFull: whenFull))
    }

    /// Retries without jitter, so that their times can be told.
    static let exact = QueuePolicy(retry: RetryPolicy(jitter: 0))
}
