public import Synchronization

/// What one iteration asks of its upstream, from the first moment on: also while upstream's iterator is still to be
/// made. An upstream that cannot be asked in advance is not told; it is pulled.
@usableFromInline
package final class UpstreamDemand: Sendable {
    @usableFromInline
    enum State: Sendable {
        /// The iterator is still to be made, and is to be asked for so many.
        case gathering(Int)
        case telling(@Sendable (Int) -> Void)
        case over
    }

    @usableFromInline let state = Mutex(State.gathering(0))
    /// Whether nobody is to be told of a demand any more, so that it costs no lock.
    @usableFromInline let isOver = Atomic(false)

    /// Makes a demand for nothing yet.
    @inlinable package init() {}

    /// Asks for so many elements more.
    @inlinable package func ask(_ count: Int) {
        guard !isOver.load(ordering: .relaxed) else { return }
        let request = state.withLock { state -> (@Sendable (Int) -> Void)? in
            switch state {
            case .gathering(let gathered):
                state = .gathering(gathered.addingUpToMax(count))
                return nil
            case .telling(let request): return request
            case .over: return nil
            }
        }
        request?(count)
    }

    /// Begins to ask this iterator, and asks it for what has gathered.
    @inlinable package func begin(with iterator: some AsyncIteratorProtocol) {
        guard let request = (iterator as? any DemandedIterator)?.request else { return end() }
        let gathered = state.withLock { state -> Int in
            guard case .gathering(let count) = state else { return 0 }
            state = .telling(request)
            return count
        }
        request(gathered)
    }

    /// Lets the iterator go.
    @inlinable package func end() {
        isOver.store(true, ordering: .relaxed)
        state.withLock { $0 = .over }
    }
}

extension Int {
    /// The sum, or the greatest number: that one stands for "without limit".
    @inlinable package func addingUpToMax(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
