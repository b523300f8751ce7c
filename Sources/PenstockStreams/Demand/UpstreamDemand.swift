internal import Synchronization

/// What one iteration asks of its upstream, from the first moment on: also while upstream's iterator is still to be
/// made. An upstream that cannot be asked in advance is not told; it is pulled.
package final class UpstreamDemand: Sendable {
    private struct State {
        var request: (@Sendable (Int) -> Void)?
        var countUntold = 0
    }

    private let state = Mutex(State())

    /// Makes a demand for nothing yet.
    package init() {}

    /// Asks for so many elements more.
    package func ask(_ count: Int) {
        let request = state.withLock { state in
            if state.request == nil { state.countUntold = state.countUntold.addingUpToMax(count) }
            return state.request
        }
        request?(count)
    }

    /// Begins to ask this iterator, and asks it for what has gathered.
    package func begin(with iterator: some AsyncIteratorProtocol) {
        guard let request = (iterator as? any DemandedIterator)?.request else { return }
        let count = state.withLock { state in
            defer { state.countUntold = 0 }
            state.request = request
            return state.countUntold
        }
        request(count)
    }

    /// Lets the iterator go.
    package func end() {
        state.withLock { $0.request = nil }
    }
}

extension Int {
    /// The sum, or the greatest number: that one stands for "without limit".
    package func addingUpToMax(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
