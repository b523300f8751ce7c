public import Synchronization

/// State behind a lock, for what Combine's types are made of: these are called from any thread, and are not `Sendable`.
///
/// The compiler lets nothing out of a `Mutex` that is not `Sendable`. So the state lies beside it, and the one thread
/// that the lock lets in gets it out. Nothing of Combine is called inside.
@usableFromInline
final class Guarded<State> {
    @usableFromInline let lock = Mutex(())
    @usableFromInline var state: State

    @inlinable init(_ state: State) {
        self.state = state
    }

    @inlinable func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        var result: Result?
        lock.withLock { _ in result = body(&state) }
        guard let result else { preconditionFailure("A lock always runs what it is given.") }
        return result
    }
}
