public import Synchronization

/// One iteration of a buffer: the lock around the state machine, and the task that reads upstream.
///
/// The task begins with the first `next()`, is cancelled as soon as nobody wants more, and the end is told to the
/// consumer only when it has ended.
@usableFromInline
final class BufferStorage<Base: AsyncSequence & Sendable, Failure: Error>: StreamStorage
where Base.Element: Sendable {
    @usableFromInline typealias Element = Base.Element
    @usableFromInline typealias Flow = BufferSequence<Base, Failure>
    @usableFromInline typealias Consumer = StreamConsumer<Element, Failure>
    /// Resumed with whether to go on.
    @usableFromInline typealias Puller = CheckedContinuation<Bool, Never>
    @usableFromInline typealias Machine = BufferStateMachine<Element, Failure, Consumer, Puller>

    @usableFromInline let flow: Flow
    @usableFromInline let machine: Mutex<Machine>
    @usableFromInline let task = UpstreamTask()
    @usableFromInline let demand = UpstreamDemand()

    @inlinable init(_ flow: Flow) {
        self.flow = flow
        let core = BufferCore<Element, Failure>(
            size: flow.size, prefetch: flow.prefetch, whenFull: .init(flow.whenFull))
        machine = Mutex(Machine(core))
    }

    @inlinable func request(_ count: Int) {
        perform { $0.request(count) }
    }

    @inlinable func take() -> Element? {
        guard let (element, asking) = machine.withLock({ $0.take() }) else { return nil }
        for action in asking { carryOut(action) }
        return element
    }

    @inlinable func next(_ consumer: Consumer) {
        perform { $0.next(consumer) }
    }

    @inlinable func letGo() {
        perform { $0.letGo() }
    }

    /// Tells the machine of an event, and does what it says.
    @inlinable func perform(_ event: (inout Machine) -> [Machine.Action]) {
        for action in machine.withLock({ event(&$0) }) { carryOut(action) }
    }

    @inlinable func carryOut(_ action: Machine.Action) {
        switch action {
        case .start: task.begin { await self.run() }
        case .release: break
        case .ask(let count): demand.ask(count)
        case .goOn(let puller): puller.resume(returning: true)
        case .stop(let puller): puller.resume(returning: false)
        case .give(let element, let consumer): consumer.resume(returning: .success(element))
        case .end(let consumer, let failure): consumer.end(failure)
        case .discard(let element): flow.onDrop(element)
        case .overflow(let element):
            flow.onDrop(element)
            // Outside the lock, as the closure is the caller's.
            if case .customError(let make) = flow.whenFull { perform { [failure = make()] in $0.failed(failure) } }
        case .cancel: task.cancel()
        }
    }

    @inlinable func run() async {
        await readUpstream()
        demand.end()
        if let action = machine.withLock({ $0.tasksEnded() }) { carryOut(action) }
    }

    @inlinable func readUpstream() async {
        var upstream = flow.base.makeAsyncIterator()
        demand.begin(with: upstream)
        do throws(Base.Failure) {
            var goesOn = machine.withLock { $0.mayPull }
            while await mayPull(goesOn), let element = try await upstream.next(isolation: nil) {
                let action: Machine.Action?
                (action, goesOn) = machine.withLock { ($0.arrived(element), $0.mayPull) }
                if let action { carryOut(action) }
            }
        } catch {
            perform { $0.failed(flow.failureOfBase(error)) }
        }
        await upstream.closeIfNeeded()
    }

    /// Suspends while the buffer is paused. Returns whether to go on.
    @inlinable func mayPull(_ answer: Bool?) async -> Bool {
        if let answer { return answer }
        return await withCheckedContinuation { puller in
            if let action = machine.withLock({ $0.pullerAsks(puller) }) { carryOut(action) }
        }
    }
}

extension BufferCore.WhenFull {
    @inlinable init(_ whenFull: BufferOverflow<Failure>) {
        switch whenFull {
        case .dropNewest: self = .dropNewest
        case .dropOldest: self = .dropOldest
        case .customError: self = .fail
        }
    }
}
