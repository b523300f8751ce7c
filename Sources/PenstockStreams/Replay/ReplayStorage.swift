public import Synchronization

/// What a replay subject and its subscribers share: the lock around the state machine.
@usableFromInline final class ReplayStorage<Element: Sendable, Failure: Error>: Sendable {
    @usableFromInline typealias Consumer = CheckedContinuation<Result<Element?, Failure>, Never>
    /// Resumed with whether the element was sent.
    @usableFromInline typealias Sender = CheckedContinuation<Bool, Never>
    @usableFromInline typealias Machine = ReplayStateMachine<Element, Failure, Consumer, Sender>

    @usableFromInline let backlog: ReplayBacklog<Failure>
    @usableFromInline let onDrop: @Sendable (Element) -> Void
    @usableFromInline let machine: Mutex<Machine>

    @inlinable init(
        remembering memoryMax: Int, backlog: ReplayBacklog<Failure>, onDrop: @escaping @Sendable (Element) -> Void
    ) {
        self.backlog = backlog
        self.onDrop = onDrop
        machine = Mutex(Machine(remembering: memoryMax, backlog: backlog))
    }

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

    @inlinable func send(_ element: Element) async throws(CancellationError) {
        let name = machine.withLock { $0.newName() }
        let isSent = await withTaskCancellationHandler {
            await withCheckedContinuation { (sender: Sender) in
                // Inside the lock, so that whoever is cancelled before it does not stand in line.
                perform { Task.isCancelled ? [.refuse(sender)] : $0.send(element, as: name, sender) }
            }
        } onCancel: {
            perform { $0.withdraw(name) }
        }
        if !isSent, Task.isCancelled { throw CancellationError() }
    }

    @inlinable func offer(_ element: Element) -> Bool {
        let (actions, isSent) = machine.withLock { $0.offer(element) }
        perform { _ in actions }
        return isSent
    }

    @inlinable func complete(_ completion: Completion<Failure>) {
        perform { $0.complete(completion) }
    }

    @inlinable func leave(_ name: Machine.Name) {
        perform { machine in
            let (actions, consumer) = machine.leave(name)
            return actions + (consumer.map { [.end($0, nil)] } ?? [])
        }
    }

    /// Tells the machine of an event, and does what it says.
    @inlinable func perform(_ event: (inout Machine) -> [Machine.Action]) {
        for action in machine.withLock({ event(&$0) }) {
            switch action {
            case .give(let element, let consumer): consumer.resume(returning: .success(element))
            case .end(let consumer, let failure):
                consumer.resume(returning: failure.map { .failure($0) } ?? .success(nil))
            case .cut(let consumer): consumer.resume(returning: backlog.cut())
            case .accept(let sender): sender.resume(returning: true)
            case .refuse(let sender): sender.resume(returning: false)
            case .drop(let element): onDrop(element)
            }
        }
    }
}

extension ReplayBacklog {
    /// What a subscriber is told that fell behind too far.
    @inlinable func cut<Element>() -> Result<Element?, Failure> {
        guard case .end(let error) = whenFull else { return .success(nil) }
        return .failure(error())
    }
}
