extension Subscribers.Demand {
    /// The demand as a number; the greatest one stands for "without limit".
    @inlinable var count: Int { max ?? .max }

    /// The demand for so many.
    @inlinable init(count: Int) {
        self = count == .max ? .unlimited : .max(count)
    }
}
