public import Synchronization

/// What a shared replay and its subscribers have in common: the lock around the state machine, and the task that reads
/// upstream while somebody subscribes.
@usableFromInline final class ShareReplayStorage<Base: AsyncSequence & Sendable, Failure: Error>: Sendable
where Base.Element: Sendable {
    @usableFromInline typealias Element = Base.Element
    @usableFromInline typealias Consumer = CheckedContinuation<Result<Element?, Failure>, Never>
    /// Resumed with whether to go on.
    @usableFromInline typealias Puller = CheckedContinuation<Bool, Never>
    @usableFromInline typealias Machine = ShareReplayStateMachine<Element, Failure, Consumer, Puller>

    @usableFromInline struct State {
        @usableFromInline var machine: Machine
        @usableFromInline var task: Task<Void, Never>?

        @inlinable init(machine: Machine) { self.machine = machine }
    }

    @usableFromInline let base: Base
    @usableFromInline let backlog: ReplayBacklog<Failure>
    @usableFromInline let onDrop: @Sendable (Element) -> Void
    @usableFromInline let failureOfBase: @Sendable (Base.Failure) -> Failure
    @usableFromInline let state: Mutex<State>

    @inlinable init(
        _ base: Base, remembering memoryMax: Int, backlog: ReplayBacklog<Failure>,
        onDrop: @escaping @Sendable (Element) -> Void,
        failureOfBase: @escaping @Sendable (Base.Failure) -> Failure
    ) {
        self.base = base
        self.backlog = backlog
        self.onDrop = onDrop
        self.failureOfBase = failureOfBase
        state = Mutex(State(machine: Machine(remembering: memoryMax, backlog: backlog)))
    }

    @inlinable var subscriberCount: Int { state.withLock { $0.machine.subscriberCount } }

    @inlinable func subscribe() -> Machine.Name {
        state.withLock { $0.machine.subscribe() }
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

    @inlinable func leave(_ name: Machine.Name) {
        perform { $0.leave(name) }
    }

    /// Tells the machine of an event, and does what it says.
    @inlinable func perform(_ event: (inout Machine) -> [Machine.Action]) {
        let (actions, task) = state.withLock { state in
            // Of before the event: that is the one to cancel.
            let task = state.task
            let actions = event(&state.machine)
            // Inside the lock, so that whoever cancels next finds the task.
            if case .start? = actions.first {
                state.task = Task(executorPreference: consumersExecutor()) { await self.run() }
            }
            return (actions, task)
        }
        for action in actions {
            switch action {
            case .start: break
            case .cancel: task?.cancel()
            case .stop(let puller): puller.resume(returning: false)
            case .replay(let action): perform(action)
            }
        }
    }

    @inlinable func perform(_ action: Machine.Replay.Action) {
        switch action {
        case .give(let element, let consumer): consumer.resume(returning: .success(element))
        case .end(let consumer, let failure):
            consumer.resume(returning: failure.map { .failure($0) } ?? .success(nil))
        case .cut(let consumer): consumer.resume(returning: backlog.cut())
        case .accept(let puller): puller.resume(returning: true)
        case .refuse(let puller): puller.resume(returning: false)
        case .drop(let element): onDrop(element)
        }
    }

    @inlinable func run() async {
        let completion = await readUpstream()
        perform { $0.upstreamEnded(completion) }
    }

    @inlinable func readUpstream() async -> Completion<Failure> {
        var upstream = base.makeAsyncIterator()
        let demand = UpstreamDemand()
        // An upstream that may be made to wait is asked for one backlog ahead; otherwise nothing waits.
        var isAskedOneByOne = false
        if case .suspendSender = backlog.whenFull { isAskedOneByOne = true }
        demand.ask(isAskedOneByOne ? backlog.limit : .max)
        demand.begin(with: upstream)
        do throws(Base.Failure) {
            while let element = try await upstream.next(isolation: nil) {
                guard await goesOn(after: element) else { break }
                if isAskedOneByOne { demand.ask(1) }
            }
            return .finished
        } catch {
            return .failed(failureOfBase(error))
        }
    }

    /// Hands an element on, and suspends while a subscriber has no room. Returns whether to go on.
    @inlinable func goesOn(after element: Element) async -> Bool {
        await withCheckedContinuation { puller in
            perform { $0.arrived(element, puller) }
        }
    }
}
