public import Synchronization

/// What a passthrough subject and its subscribers share: the lock around the state machine.
@usableFromInline final class PassthroughStorage<Element: Sendable, Failure: Error>: Sendable {
    @usableFromInline typealias Consumer = CheckedContinuation<Result<Element?, Failure>, Never>
    @usableFromInline typealias Machine = PassthroughStateMachine<Element, Failure, Consumer>

    @usableFromInline let machine = Mutex(Machine())

    @inlinable var subscriberCount: Int { machine.withLock { $0.subscriberCount } }

    @inlinable func subscribe() -> Machine.Name {
        machine.withLock { $0.subscribe() }
    }

    @inlinable func request(_ count: Int, by name: Machine.Name) {
        perform { $0.request(count, by: name) }
    }

    @inlinable func next(of name: Machine.Name, isolation: isolated (any Actor)?) async throws(Failure) -> Element? {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { consumer in
                perform { $0.next(consumer, of: name) }
            }
        } onCancel: {
            leave(name)
        }
        return try result.get()
    }

    @inlinable func send(_ element: Element) -> Int {
        let (actions, takerCount) = machine.withLock { $0.send(element) }
        perform { _ in actions }
        return takerCount
    }

    @inlinable func complete(_ completion: Completion<Failure>) {
        perform { $0.complete(completion) }
    }

    @inlinable func leave(_ name: Machine.Name) {
        perform { $0.leave(name) }
    }

    /// Tells the machine of an event, and does what it says.
    @inlinable func perform(_ event: (inout Machine) -> [Machine.Action]) {
        for action in machine.withLock({ event(&$0) }) {
            switch action {
            case .give(let element, let consumer): consumer.resume(returning: .success(element))
            case .end(let consumer, let failure):
                consumer.resume(returning: failure.map { .failure($0) } ?? .success(nil))
            }
        }
    }
}
