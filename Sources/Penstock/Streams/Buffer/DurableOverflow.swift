internal import PenstockCore

/// What a durable buffer does with a value that finds it full.
public enum DurableOverflow: Sendable {
    /// The value that arrives is dropped, on record.
    case dropNewest
    /// The value that waited longest is dropped, on record, and the one that arrives is kept.
    case dropOldest
    /// The stream fails with the error that the closure makes, as soon as the store has no place for a value. What waits
    /// stays, and the next stream on the queue gets it first.
    case customError(@Sendable () -> any Error)
    /// Nothing is dropped: upstream is asked for no more than there is room for. A source that cannot be paused (a
    /// subject) loses what it sends meanwhile.
    case wait

    /// What the queue is told.
    var policy: OverflowPolicy {
        switch self {
        case .dropNewest: .dropNewest
        case .dropOldest: .dropOldest
        case .customError: .fail
        case .wait: .wait
        }
    }
}
