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

/// What an iteration keeps behind its lock.
@usableFromInline
package struct IterationState<Machine: Sendable>: Sendable {
    @usableFromInline package var machine: Machine
    /// What reads upstream, once the iteration has begun.
    @usableFromInline package let task: UpstreamTask

    @inlinable package init(_ machine: Machine) {
        self.machine = machine
        task = UpstreamTask()
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
