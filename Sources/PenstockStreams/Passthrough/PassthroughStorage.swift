internal import Synchronization

/// What a passthrough subject and its subscribers share: the lock around the state machine.
final class PassthroughStorage<Element: Sendable, Failure: Error>: Sendable {
    typealias Consumer = CheckedContinuation<Result<Element?, Failure>, Never>
    typealias Machine = PassthroughStateMachine<Element, Failure, Consumer>

    private let machine = Mutex(Machine())

    var subscriberCount: Int { machine.withLock { $0.subscriberCount } }

    func subscribe() -> Machine.Name {
        machine.withLock { $0.subscribe() }
    }

    func request(_ count: Int, by name: Machine.Name) {
        perform { $0.request(count, by: name) }
    }

    func next(of name: Machine.Name, isolation: isolated (any Actor)?) async throws(Failure) -> Element? {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { consumer in
                perform { $0.next(consumer, of: name) }
            }
        } onCancel: {
            leave(name)
        }
        return try result.get()
    }

    func send(_ element: Element) -> Int {
        let (actions, takerCount) = machine.withLock { $0.send(element) }
        perform { _ in actions }
        return takerCount
    }

    func complete(_ completion: Completion<Failure>) {
        perform { $0.complete(completion) }
    }

    func leave(_ name: Machine.Name) {
        perform { $0.leave(name) }
    }

    /// Tells the machine of an event, and does what it says.
    private func perform(_ event: (inout Machine) -> [Machine.Action]) {
        for action in machine.withLock({ event(&$0) }) {
            switch action {
            case .give(let element, let consumer): consumer.resume(returning: .success(element))
            case .end(let consumer, let failure):
                consumer.resume(returning: failure.map { .failure($0) } ?? .success(nil))
            }
        }
    }
}
