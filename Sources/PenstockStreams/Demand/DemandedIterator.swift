/// An iterator that can be asked for elements before the consumer comes for them.
///
/// A pull asks for one element and comes for it in one step. That is too late for a source that loses what nobody has
/// asked for, and for a buffer that lets pass what its consumer waits for. An operator that works on several elements at
/// once therefore says so at once, and then comes for each of them.
@usableFromInline package protocol DemandedIterator: AsyncIteratorProtocol {
    /// Asks for so many elements more. A consumer that has called it once asks by it alone: `next()` then only comes for
    /// what was asked for. It keeps nothing running: what is asked of an iteration that is over changes nothing.
    var request: @Sendable (_ count: Int) -> Void { get }
}
