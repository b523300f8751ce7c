/// Takes part in the inner sequences of one iteration, from their beginnings to their ends.
///
/// Closures and no protocol: the code that calls them is compiled for the types of the program's flatMap.
@usableFromInline package struct FlatMapDelegate<Element: Sendable>: Sendable {
    /// Works beside the inner sequences. It is cancelled when the last one has ended, and waited for.
    @usableFromInline let run: @Sendable () async -> Void
    /// Reads the inner sequence of an element, and does what belongs to its end. What it throws, the stream fails with.
    @usableFromInline let read: @Sendable (_ inner: FlatMapInner, _ element: Element) async throws -> Void
    /// Discards an element that arrived after the end, and whose inner sequence never begins.
    @usableFromInline let discard: @Sendable (_ element: Element) async -> Void

    /// Makes one.
    package init(
        run: @escaping @Sendable () async -> Void,
        read: @escaping @Sendable (_ inner: FlatMapInner, _ element: Element) async throws -> Void,
        discard: @escaping @Sendable (_ element: Element) async -> Void
    ) {
        (self.run, self.read, self.discard) = (run, read, discard)
    }
}

/// One inner sequence, for the delegate that reads it.
@usableFromInline package struct FlatMapInner: Sendable {
    /// How the reading ended.
    @usableFromInline package enum End: Sendable {
        case finished
        case failed(any Error)
        /// Nobody wants more of it.
        case unwanted
    }

    /// Reads it to its end. Once, and its iterator is gone on return. It ends sooner when its task is cancelled, if it
    /// heeds that.
    @usableFromInline package let read: @Sendable () async -> End
    /// Lets upstream be asked for the next element. Once, when it has ended.
    @usableFromInline package let makeRoom: @Sendable () -> Void

    @inlinable init(read: @escaping @Sendable () async -> End, makeRoom: @escaping @Sendable () -> Void) {
        self.read = read
        self.makeRoom = makeRoom
    }
}
