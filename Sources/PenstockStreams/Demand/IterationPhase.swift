/// How far one iteration of an operator is.
///
/// ```
/// idle --next--> running --failed, letGo--> stopping --tasksEnded--> ended
///   \                \--------------tasksEnded-------------------------^
///    \---------------------------------letGo---------------------------^
/// ```
@usableFromInline
package enum IterationPhase<Failure: Error>: Sendable {
    /// Nobody has asked for an element yet, and nothing runs.
    case idle
    case running
    /// Everything is cancelled, and something may still run. The consumer is to be told why, if it was a failure.
    case stopping(Failure?)
    /// Nothing runs any more. Elements may still be there to be taken, and the consumer is to be told of the failure once.
    case ended(Failure?)

    @inlinable package var isRunning: Bool {
        if case .running = self { true } else { false }
    }

    /// No task runs any more.
    @inlinable package mutating func tasksEnded() {
        if case .stopping(let failure) = self { self = .ended(failure) } else { self = .ended(nil) }
    }
}

/// How a stream ended.
@usableFromInline
package enum Completion<Failure: Error>: Sendable {
    case finished
    case failed(Failure)

    @inlinable package var failure: Failure? {
        guard case .failed(let failure) = self else { return nil }
        return failure
    }
}

extension Completion: Equatable where Failure: Equatable {}

/// The failure of what cannot fail.
@inlinable package func impossible<Failure: Error>(_ never: Never) -> Failure {
    // Empty, as there is nothing that it could be called with.
}
