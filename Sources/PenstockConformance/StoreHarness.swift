public import PenstockCore
public import PenstockTestKit

/// What the conformance suite needs to put a kind of store to the test.
///
/// One harness is one store's data, empty at first, and any number of processes on it. The suite makes no use of real
/// time: every handle must take its time from ``time``. Handles that take seeded random numbers must share one source,
/// or they would give the same lease tokens.
public protocol StoreHarness: Sendable {
    /// The clocks that every handle goes by.
    var time: ManualTime { get }

    /// Opens a handle on the data. Each one counts as a process of its own.
    func open() async throws -> any MessageStore

    /// Opens a handle that calls `afterStep` between the steps of a call that is not one transaction, such as the deletion
    /// of a large queue, and ends the call with what that throws. So a rule sees what others see meanwhile, and what a
    /// death in between leaves.
    ///
    /// A store that does everything in one step never calls it, and needs no implementation of this.
    func open(afterStep: @escaping @Sendable () async throws -> Void) async throws -> any MessageStore

    /// Whether what ``open(afterStep:)`` gives calls `afterStep`: then a rule that looks at what is between two steps fails where it was
    /// never called, and has seen nothing. `false` unless a harness says otherwise.
    var hasSteps: Bool { get }

    /// Ends the process of `store`, which ``open()`` gave, as SIGKILL does: its lock goes, nothing is given back and
    /// nothing is closed. The suite does not use `store` again.
    func crash(_ store: any MessageStore) async throws
}

extension StoreHarness {
    /// A handle without steps.
    public func open(afterStep: @escaping @Sendable () async throws -> Void) async throws -> any MessageStore {
        try await open()
    }

    /// That a store does everything in one step.
    public var hasSteps: Bool { false }
}

/// The harness of the store in memory.
public struct InMemoryHarness: StoreHarness {
    /// The clocks that every handle goes by.
    public let time: ManualTime
    private let database: InMemoryDatabase

    /// Makes an empty store in memory.
    public init(seed: UInt64 = 1) {
        time = ManualTime()
        database = InMemoryDatabase(time: time, random: SeededRandom(seed: seed))
    }

    /// Opens one more handle on the same data.
    public func open() async throws -> any MessageStore {
        database.open()
    }

    /// Opens a handle that calls `afterStep` between the steps of a deletion.
    public func open(afterStep: @escaping @Sendable () async throws -> Void) async throws -> any MessageStore {
        database.open(afterStep: afterStep)
    }

    /// That a deletion has steps.
    public var hasSteps: Bool { true }

    /// Kills the process that `store` stands for.
    public func crash(_ store: any MessageStore) async throws {
        (store as? InMemoryStore)?.crash()
    }
}
