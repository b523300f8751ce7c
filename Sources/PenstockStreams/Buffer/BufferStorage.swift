public import Synchronization

/// One iteration of a buffer: the lock around the state machine, and the task that reads upstream.
///
/// The task begins with the first `next()`, is cancelled as soon as nobody wants more, and the end is told to the
/// consumer only when it has ended.
@usableFromInline
final class BufferStorage<Base: AsyncSequence & Sendable, Failure: Error>: Sendable where Base.Element: Sendable {
    @usableFromInline typealias Flow = BufferSequence<Base, Failure>
    @usableFromInline typealias Consumer = CheckedContinuation<Result<Base.Element?, Failure>, Never>
    /// Resumed with whether to go on.
    @usableFromInline typealias Puller = CheckedContinuation<Bool, Never>
    @usableFromInline typealias Machine = BufferStateMachine<Base.Element, Failure, Consumer, Puller>

    @usableFromInline struct State {
        @usableFromInline var machine: Machine
        @usableFromInline var task: Task<Void, Never>?

        @inlinable init(machine: Machine) { self.machine = machine }
    }

    @usableFromInline let flow: Flow
    @usableFromInline let state: Mutex<State>
    @usableFromInline let demand = UpstreamDemand()

    @inlinable init(_ flow: Flow) {
        self.flow = flow
        let machine = Machine(size: flow.size, prefetch: flow.prefetch, whenFull: flow.whenFull)
        state = Mutex(State(machine: machine))
    }

    @inlinable func request(_ count: Int) {
        perform { $0.request(count) }
    }

    @inlinable func next(isolation: isolated (any Actor)?) async throws(Failure) -> Base.Element? {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { consumer in
                perform { $0.next(consumer) }
            }
        } onCancel: {
            letGo()
        }
        return try result.get()
    }

    @inlinable func letGo() {
        perform { $0.letGo() }
    }

    /// Tells the machine of an event, and does what it says.
    @inlinable func perform(_ event: (inout Machine) -> [Machine.Action]) {
        let (actions, task) = state.withLock { state in
            let actions = event(&state.machine)
            // Inside the lock, so that whoever cancels next finds the task.
            if case .start? = actions.first {
                state.task = Task(executorPreference: consumersExecutor()) { await self.run() }
            }
            return (actions, state.task)
        }
        for action in actions {
            switch action {
            case .start: break
            case .ask(let count): demand.ask(count)
            case .goOn(let puller): puller.resume(returning: true)
            case .stop(let puller): puller.resume(returning: false)
            case .give(let element, let consumer): consumer.resume(returning: .success(element))
            case .end(let consumer, let failure):
                consumer.resume(returning: failure.map { .failure($0) } ?? .success(nil))
            case .discard(let element): flow.onDrop(element)
            case .overflow(let element):
                flow.onDrop(element)
                // Outside the lock, as the closure is the caller's.
                if case .customError(let make) = flow.whenFull { perform { [failure = make()] in $0.failed(failure) } }
            case .cancel: task?.cancel()
            }
        }
    }

    @inlinable func run() async {
        await readUpstream()
        demand.end()
        perform { $0.tasksEnded() }
    }

    @inlinable func readUpstream() async {
        var upstream = flow.base.makeAsyncIterator()
        demand.begin(with: upstream)
        do throws(Base.Failure) {
            while await goesOn(), let element = try await upstream.next(isolation: nil) {
                perform { $0.arrived(element) }
            }
        } catch {
            perform { $0.failed(flow.failure(ofBase: error)) }
        }
    }

    /// Suspends while the buffer is paused. Returns whether to go on.
    @inlinable func goesOn() async -> Bool {
        await withCheckedContinuation { puller in
            perform { $0.pullerAsks(puller) }
        }
    }
}
