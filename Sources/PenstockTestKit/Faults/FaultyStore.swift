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
/// It can also fail for a while: from ``fail(every:_:with:)`` until ``heal()``. And it counts calls, so that a test can
/// wait until one was made.
public final class FaultyStore: ForwardingStore {
    /// The kinds of call that can fail.
    public typealias Call = StoreCall

    /// On which side of a call's effect it fails.
    public enum Side: Sendable {
        /// The call changes nothing, and fails.
        case before
        /// The call takes effect, and fails all the same.
        case after
    }

    private struct Fault {
        var calls: Set<Call>
        /// Which call of its kind fails; `nil`: every one.
        var count: Int?
        var side: Side
        var error: PenstockError
    }

    /// The store underneath.
    public let base: any MessageStore
    private let faults = Mutex<[Fault]>([])
    private let underWayCount = Mutex(0)
    private let tallies = Dictionary(uniqueKeysWithValues: Call.allCases.map { ($0, Tally()) })

    /// Makes a store that hands every call to `base`.
    public init(_ base: any MessageStore) {
        self.base = base
    }

    /// What a call throws unless it is told otherwise: `storage`.
    public static let error = PenstockError(.storage, "The storage failed because a test wants it to.")

    /// Lets a call fail: the `nth` one of its kind from now on, 1 being the next.
    public func fail(
        _ call: Call, at nth: Int = 1, _ side: Side = .before, with error: PenstockError = FaultyStore.error
    ) {
        precondition(nth >= 1, "The next call is number 1.")
        let fault = Fault(calls: [call], count: calls(of: call).count + nth, side: side, error: error)
        faults.withLock { $0.append(fault) }
    }

    /// Lets every call of these kinds fail from now on, until ``heal()``.
    public func fail(
        every calls: Set<Call>, _ side: Side = .before, with error: PenstockError = FaultyStore.error
    ) {
        faults.withLock { $0.append(Fault(calls: calls, count: nil, side: side, error: error)) }
    }

    /// Takes every fault back: from now on no call fails.
    public func heal() {
        faults.withLock { $0 = [] }
    }

    /// How often a kind of call was made. Counted before the call reaches the store underneath.
    public func calls(of call: Call) -> Tally {
        // Every case has one since `init`.
        tallies[call, default: Tally()]
    }

    /// Whether a call was made and has no answer yet.
    public var isUnderWay: Bool { underWayCount.withLock { $0 > 0 } }

    /// Counts the call and hands it on, or fails.
    public func pass<Answer: Sendable>(
        _ call: StoreCall, _ body: @Sendable () async throws -> Answer
    ) async throws -> Answer {
        underWayCount.withLock { $0 += 1 }
        defer { underWayCount.withLock { $0 -= 1 } }
        let count = calls(of: call).add()
        let fault = faults.withLock { faults in
            guard let index = faults.firstIndex(where: { $0.calls.contains(call) && $0.count ?? count == count })
            else { return nil as Fault? }
            return faults[index].count == nil ? faults[index] : faults.remove(at: index)
        }
        guard let fault else { return try await body() }
        if fault.side == .after { _ = try await body() }
        throw fault.error
    }
}
