public import PenstockCore
import Synchronization

/// A store in which somebody else does something right after a call, as other processes may at any time. What looks first and
/// acts later is tried with it.
///
/// ```swift
/// let store = InterleavedStore(InMemoryStore())
/// store.afterNext(.messages) { _ = try await $0.enqueue([message], to: queue, durability: .processCrash) }
/// ```
public final class InterleavedStore: ForwardingStore {
    /// What somebody else does, with the store underneath.
    public typealias Act = @Sendable (any MessageStore) async throws -> Void

    /// The store underneath.
    public let base: any MessageStore
    private let acts = Mutex<[StoreCall: Act]>([:])

    /// Makes a store on `base` in which nothing happens yet.
    public init(_ base: any MessageStore) {
        self.base = base
    }

    /// Has `act` happen once, after the next call of that kind and before its caller goes on.
    public func afterNext(_ call: StoreCall, _ act: @escaping Act) {
        acts.withLock { $0[call] = act }
    }

    /// Makes the call, and then what was to happen after it.
    public func pass<Answer: Sendable>(
        _ call: StoreCall, _ body: @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let result = await Result.of { try await body() }
        if let act = acts.withLock({ $0.removeValue(forKey: call) }) { try await act(base) }
        return try result.get()
    }
}
