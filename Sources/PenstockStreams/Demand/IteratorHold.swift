/// A consumer that waits, to be given an element, the end (`nil`) or the failure.
@usableFromInline
package typealias StreamConsumer<Element: Sendable, Failure: Error> = CheckedContinuation<
    Result<Element?, Failure>, Never
>

extension CheckedContinuation {
    /// Tells the consumer that no more elements come, and why if it was a failure.
    @inlinable package func end<Element: Sendable, Failure: Error>(_ failure: Failure?)
    where T == Result<Element?, Failure>, E == Never {
        resume(returning: failure.map { .failure($0) } ?? .success(nil))
    }
}

/// One iteration of a sequence, which its iterator asks for elements.
@usableFromInline
package protocol StreamStorage: Sendable {
    /// What the iteration gives.
    associatedtype Element: Sendable
    /// How it fails.
    associatedtype Failure: Error
    /// Takes the next element if it is there already: then nobody has to wait.
    func take() -> Element?

    /// The consumer waits for the next element.
    func next(_ consumer: StreamConsumer<Element, Failure>)

    /// Nobody wants more.
    func letGo()

    /// Nobody wants more. Returns when no task of the iteration runs any more and it holds no lease.
    func close() async
}

extension StreamStorage {
    @inlinable package func close() async {
        letGo()
        // A consumer that comes after the end is answered when the tasks have ended.
        _ = await withCheckedContinuation { next($0) }
    }
}

/// What the copies of one iterator have in common. It lets the iteration go with the last of them; the iteration cannot
/// know, as its own task holds it.
@usableFromInline
package final class IteratorHold<Storage: StreamStorage>: Sendable {
    @usableFromInline package let storage: Storage

    @inlinable package init(_ storage: Storage) {
        self.storage = storage
    }

    @inlinable deinit {
        storage.letGo()
    }

    /// The next element; `nil` after the last one, and when the task is cancelled.
    @inlinable package func next(
        isolation: isolated (any Actor)?
    ) async throws(Storage.Failure) -> Storage.Element? {
        if !Task.isCancelled, let element = storage.take() { return element }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { storage.next($0) }
        } onCancel: {
            storage.letGo()
        }
        return try result.get()
    }
}

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
