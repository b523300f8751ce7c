public import Synchronization

/// One iteration of a bounded flatMap: the lock around the state machine, and the tasks that feed it.
///
/// One task reads upstream and owns a child task for each inner sequence. It begins with the first `next()`, is
/// cancelled as soon as nobody wants more, and the end is told to the consumer only when all of it has ended.
@usableFromInline
final class FlatMapStorage<
    Base: AsyncSequence & Sendable, Inner: AsyncSequence & SendableMetatype, Failure: Error
>: Sendable where Base.Element: Sendable, Inner.Element: Sendable {
    @usableFromInline typealias Flow = FlatMapSequence<Base, Inner, Failure>
    @usableFromInline typealias Consumer = CheckedContinuation<Result<Inner.Element?, Failure>, Never>
    /// Resumed with whether to go on.
    @usableFromInline typealias Producer = CheckedContinuation<Bool, Never>
    @usableFromInline typealias Machine = FlatMapStateMachine<Inner.Element, Failure, Consumer, Producer>

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
        state = Mutex(State(machine: Machine(maxConcurrent: flow.maxConcurrent)))
    }

    @inlinable func next(isolation: isolated (any Actor)?) async throws(Failure) -> Inner.Element? {
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
    @inlinable func perform(_ event: (inout Machine) -> Machine.Action) {
        let (action, task) = state.withLock { state in
            let action = event(&state.machine)
            // Inside the lock, so that whoever cancels next finds the task.
            if case .start = action { state.task = Task(executorPreference: consumersExecutor()) { await self.run() } }
            return (action, state.task)
        }
        switch action {
        case .none, .start:
            break
        case .give(let element, let consumer, let inner):
            consumer.resume(returning: .success(element))
            inner.resume(returning: true)
        case .end(let consumer, let failure):
            consumer.resume(returning: failure.map { .failure($0) } ?? .success(nil))
        case .goOn(let producer):
            producer.resume(returning: true)
        case .stop(let producer):
            producer.resume(returning: false)
        case .cancel(let producers):
            task?.cancel()
            for producer in producers { producer.resume(returning: false) }
        }
    }

    /// Suspends a producer until the machine lets it go on (true) or stops it.
    @inlinable func goesOn(_ event: (inout Machine, Producer) -> Machine.Action) async -> Bool {
        await withCheckedContinuation { producer in
            perform { event(&$0, producer) }
        }
    }

    @inlinable func run() async {
        if let delegate = flow.delegate?.make() {
            await withDiscardingTaskGroup { group in
                group.addTask { await delegate.run() }
                await readUpstream(discard: { await delegate.discard($0) }) {
                    await self.runInner(of: $0, with: delegate)
                }
                group.cancelAll()
            }
        } else {
            await readUpstream { await self.runInner(of: $0) }
        }
        demand.end()
        perform { $0.tasksEnded() }
    }

    @inlinable func readUpstream(
        discard: (Base.Element) async -> Void = { _ in },
        _ runInner: @escaping @Sendable (Base.Element) async -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            var upstream = flow.base.makeAsyncIterator()
            demand.ask(flow.maxConcurrent)
            demand.begin(with: upstream)
            do throws(Base.Failure) {
                while await goesOn({ $0.upstreamAsks($1) }), let element = try await upstream.next(isolation: nil) {
                    // An element that arrives after the end is let go, and its inner sequence never begins.
                    guard !Task.isCancelled else {
                        await discard(element)
                        break
                    }
                    group.addTask { await runInner(element) }
                }
            } catch {
                perform { $0.failed(flow.failure(ofBase: error)) }
            }
        }
    }

    @inlinable func runInner(of element: Base.Element) async {
        do throws(Inner.Failure) {
            if try await readInner(of: element) { makeRoom() }
        } catch {
            perform { $0.failed(flow.failure(ofInner: error)) }
        }
    }

    @inlinable func runInner(of element: Base.Element, with delegate: some FlatMapDelegate<Base.Element>) async {
        let read: @Sendable () async -> FlatMapInner.End = {
            do {
                return try await self.readInner(of: element) ? .finished : .unwanted
            } catch {
                return .failed(error)
            }
        }
        do {
            try await delegate.read(FlatMapInner(read: read, makeRoom: { self.makeRoom() }), of: element)
        } catch {
            if let failure = flow.delegate?.failure(error) { perform { $0.failed(failure) } }
        }
    }

    @inlinable func makeRoom() {
        // Before upstream's loop comes for it: whoever is pulled only then would be asked too late.
        demand.ask(1)
        perform { $0.innerFinished() }
    }

    /// Reads the inner sequence to its end (true), or until nobody wants more of it. Its iterator is gone on return,
    /// so that upstream is never asked for another while this one holds something.
    @inlinable func readInner(of element: Base.Element) async throws(Inner.Failure) -> Bool {
        var inner = flow.transform(element).makeAsyncIterator()
        while let value = try await inner.next(isolation: nil) {
            guard await goesOn({ $0.innerProduced(value, $1) }) else { return false }
        }
        return true
    }
}
