internal import PenstockStreams

extension Subscribers.Demand {
    /// The demand as a number; the greatest one stands for "without limit".
    var count: Int { max ?? .max }

    /// The demand for so many.
    init(count: Int) {
        self = count == .max ? .unlimited : .max(count)
    }
}
