public import Synchronization

/// What one iteration asks of its upstream, from the first moment on: also while upstream's iterator is still to be
/// made. An upstream that cannot be asked in advance is not told; it is pulled.
@usableFromInline package final class UpstreamDemand: Sendable {
    @usableFromInline struct State {
        @usableFromInline var request: (@Sendable (Int) -> Void)?
        @usableFromInline var countUntold = 0
    }

    @usableFromInline let state = Mutex(State())

    /// Makes a demand for nothing yet.
    @inlinable package init() {}

    /// Asks for so many elements more.
    @inlinable package func ask(_ count: Int) {
        let request = state.withLock { state in
            if state.request == nil { state.countUntold = state.countUntold.addingUpToMax(count) }
            return state.request
        }
        request?(count)
    }

    /// Begins to ask this iterator, and asks it for what has gathered.
    @inlinable package func begin(with iterator: some AsyncIteratorProtocol) {
        guard let request = (iterator as? any DemandedIterator)?.request else { return }
        let count = state.withLock { state in
            defer { state.countUntold = 0 }
            state.request = request
            return state.countUntold
        }
        request(count)
    }

    /// Lets the iterator go.
    @inlinable package func end() {
        state.withLock { $0.request = nil }
    }
}

extension Int {
    /// The sum, or the greatest number: that one stands for "without limit".
    @inlinable package func addingUpToMax(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
