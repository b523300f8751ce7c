/// How a buffer asks upstream for elements.
public enum BufferPrefetch: Sendable, Hashable {
    /// Without limit, from the consumer's first demand on, and without a pause.
    case byRequest
    /// One at a time, until one arrives that finds the buffer full. Then the buffer pauses, until the consumer asks for
    /// another. A source that cannot be paused (a subject) loses what it sends meanwhile.
    case keepFull
}

/// What a buffer does with an element that finds it full.
public enum BufferOverflow<Failure: Error>: Sendable {
    /// The element that arrives is discarded.
    case dropNewest
    /// The element that waited longest is discarded, and the one that arrives is kept.
    case dropOldest
    /// The element that arrives is discarded, and the stream fails at once with the error that the closure makes.
    case customError(@Sendable () -> Failure)
}
