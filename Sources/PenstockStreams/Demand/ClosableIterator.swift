/// An iterator that has tasks of its own, or leases.
///
/// A program lets it go, and what it has ends a moment later. An operator closes it: then the end of the operator is the end
/// of the whole row.
@usableFromInline package protocol ClosableIterator: AsyncIteratorProtocol {
    /// Ends the iteration, and returns when no task of it runs any more and it holds no lease.
    func close() async
}

extension AsyncIteratorProtocol {
    /// Ends an iteration before its end. One that is no ``ClosableIterator`` ends with its iterator.
    @inlinable package func closeIfNeeded() async {
        await (self as? any ClosableIterator)?.close()
    }
}
