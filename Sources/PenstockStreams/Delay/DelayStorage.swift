public import Synchronization

/// One iteration of a delay: the lock around the state machine, and the tasks that read upstream and keep time.
///
/// They begin with the first `next()`, are cancelled as soon as nobody wants more, and the end is told to the consumer
/// only when both have ended.
@usableFromInline
final class DelayStorage<Base: AsyncSequence & Sendable, C: Clock>: Sendable where Base.Element: Sendable {
    @usableFromInline typealias Failure = Base.Failure
    @usableFromInline typealias Flow = DelaySequence<Base, C>
    @usableFromInline typealias Consumer = CheckedContinuation<Result<Base.Element?, Failure>, Never>
    /// Resumed with whether to go on.
    @usableFromInline typealias Puller = CheckedContinuation<Bool, Never>
    /// Resumed with the moment to sleep for, or none when nobody needs it any more.
    @usableFromInline typealias Timer = CheckedContinuation<C.Instant?, Never>
    @usableFromInline typealias Machine = DelayStateMachine<Base.Element, C.Instant, Failure, Consumer, Puller, Timer>

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
        state = Mutex(State(machine: Machine(holding: flow.heldMax)))
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
            case .sleep(let timer, let moment): timer.resume(returning: moment)
            case .rest(let timer): timer.resume(returning: nil)
            case .give(let element, let consumer): consumer.resume(returning: .success(element))
            case .end(let consumer, let failure):
                consumer.resume(returning: failure.map { .failure($0) } ?? .success(nil))
            case .cancel: task?.cancel()
            }
        }
    }

    @inlinable func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.readUpstream() }
            await keepTime()
        }
        perform { $0.tasksEnded() }
    }

    @inlinable func readUpstream() async {
        var upstream = flow.base.makeAsyncIterator()
        demand.begin(with: upstream)
        defer { demand.end() }
        do throws(Failure) {
            while await goesOn() {
                guard let element = try await upstream.next(isolation: nil) else {
                    perform { $0.upstreamFinished(due: due) }
                    return
                }
                perform { $0.arrived(element, due: due) }
            }
        } catch {
            perform { $0.failed(error) }
        }
    }

    /// When something that arrives now is due.
    @inlinable var due: C.Instant { flow.clock.now.advanced(by: flow.interval) }

    /// Suspends while as many elements are held as may be. Returns whether to go on.
    @inlinable func goesOn() async -> Bool {
        await withCheckedContinuation { puller in
            perform { $0.pullerAsks(puller) }
        }
    }

    @inlinable func keepTime() async {
        while let moment = await nextMoment() {
            // A task that wakes early was cancelled, and is told to rest when it asks again. A moment that has passed
            // while the consumer was busy needs no sleep.
            if flow.clock.now < moment { try? await flow.clock.sleep(until: moment, tolerance: flow.tolerance) }
            perform { $0.dueCame() }
        }
    }

    @inlinable func nextMoment() async -> C.Instant? {
        await withCheckedContinuation { timer in
            perform { $0.timerAsks(timer) }
        }
    }
}
