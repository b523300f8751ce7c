extension Publisher where Self: SendableMetatype {
    /// Keeps up to `size` values that arrive while the subscriber is busy.
    ///
    /// It does as `exactBuffer(size:prefetch:whenFull:)`, and takes the place of Combine's own wherever
    /// `PenstockCombine` is imported: the constraint, which every publisher of a known type meets, makes it the
    /// more specialised of the two. In a generic function say `some Publisher & SendableMetatype`, without which the
    /// compiler calls the two ambiguous.
    ///
    /// - Parameters:
    ///   - size: how many values may wait, 0 or more.
    ///   - prefetch: how upstream is asked for values.
    ///   - whenFull: what happens to a value that finds the buffer full.
    @inlinable public func buffer(
        size: Int,
        prefetch: Publishers.PrefetchStrategy,
        whenFull: Publishers.BufferingStrategy<Failure>
    ) -> Publishers.ExactBuffer<Self> {
        exactBuffer(size: size, prefetch: prefetch, whenFull: whenFull)
    }
}

extension Publisher {
    /// Keeps up to `size` values that arrive while the subscriber is busy.
    ///
    /// It stands beside Combine's own so that neither is chosen in silence where the compiler knows too little of the
    /// publisher to prefer the exact one.
    @inlinable public func buffer(
        size: Int,
        prefetch: Publishers.PrefetchStrategy,
        whenFull: Publishers.BufferingStrategy<Failure>
    ) -> Publishers.ExactBuffer<Self> {
        exactBuffer(size: size, prefetch: prefetch, whenFull: whenFull)
    }
}
