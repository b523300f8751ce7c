public import Synchronization

/// One iteration of a delay: the lock around the state machine, and the tasks that read upstream and keep time.
///
/// They begin with the first `next()`, are cancelled as soon as nobody wants more, and the end is told to the consumer
/// only when both have ended.
@usableFromInline
final class DelayStorage<Base: AsyncSequence & Sendable, C: Clock>: StreamStorage where Base.Element: Sendable {
    @usableFromInline typealias Element = Base.Element
    @usableFromInline typealias Failure = Base.Failure
    @usableFromInline typealias Flow = DelaySequence<Base, C>
    @usableFromInline typealias Consumer = StreamConsumer<Element, Failure>
    /// Resumed with whether to go on.
    @usableFromInline typealias Puller = CheckedContinuation<Bool, Never>
    /// Resumed with the moment to sleep for, or none when nobody needs it any more.
    @usableFromInline typealias Timer = CheckedContinuation<C.Instant?, Never>
    @usableFromInline typealias Machine = DelayStateMachine<Element, C.Instant, Failure, Consumer, Puller, Timer>

    @usableFromInline let flow: Flow
    @usableFromInline let machine: Mutex<Machine>
    @usableFromInline let task = UpstreamTask()
    @usableFromInline let demand = UpstreamDemand()

    @inlinable init(_ flow: Flow) {
        self.flow = flow
        machine = Mutex(Machine(holding: flow.heldMax))
    }

    @inlinable func take() -> Element? {
        guard let (element, puller) = machine.withLock({ $0.take() }) else { return nil }
        askForMore(puller)
        return element
    }

    @inlinable func next(_ consumer: Consumer) {
        perform { $0.next(consumer) }
    }

    @inlinable func letGo() {
        perform { $0.letGo() }
    }

    /// Tells the machine of an event, and does what it says.
    @inlinable func perform(_ event: (inout Machine) -> Machine.Action?) {
        if let action = machine.withLock({ event(&$0) }) { carryOut(action) }
    }

    @inlinable func carryOut(_ action: Machine.Action) {
        switch action {
        case .start(let count):
            demand.ask(count)
            task.begin { await self.run() }
        case .give(let element, let consumer, let puller):
            consumer.resume(returning: .success(element))
            askForMore(puller)
        case .goOn(let puller, let goesOn): puller.resume(returning: goesOn)
        case .sleep(let timer, let moment): timer.resume(returning: moment)
        case .end(let consumer, let failure): consumer.end(failure)
        case .stop(let puller, let timer, _):
            task.cancel()
            puller?.resume(returning: false)
            timer?.resume(returning: nil)
        }
    }

    @inlinable func askForMore(_ puller: Puller?) {
        demand.ask(1)
        puller?.resume(returning: true)
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
        do throws(Base.Failure) {
            var mayPull = machine.withLock { $0.mayPull() }
            while await goesOn(mayPull) {
                guard let element = try await upstream.next(isolation: nil) else {
                    return perform { [due] in $0.upstreamFinished(due: due) }
                }
                let due = due
                let action: Machine.Action?
                (action, mayPull) = machine.withLock { ($0.arrived(element, due: due), $0.mayPull()) }
                if let action { carryOut(action) }
            }
            await upstream.closeIfNeeded()
        } catch {
            perform { $0.failed(error) }
        }
    }

    /// When something that arrives now is due.
    @inlinable var due: C.Instant { flow.clock.now.advanced(by: flow.interval) }

    /// Suspends while as many elements are held as may be. Returns whether to go on.
    @inlinable func goesOn(_ mayPull: Bool?) async -> Bool {
        if let mayPull { return mayPull }
        return await withCheckedContinuation { puller in
            perform { $0.pullerWaits(puller) }
        }
    }

    @inlinable func keepTime() async {
        while let moment = await nextMoment() {
            // A moment that has passed already needs no sleep. A task that wakes early was cancelled: nothing is held
            // any more, and it is told to rest when it asks again.
            if flow.clock.now < moment { try? await flow.clock.sleep(until: moment, tolerance: flow.tolerance) }
            perform { [now = flow.clock.now] in $0.dueCame(now) }
        }
    }

    @inlinable func nextMoment() async -> C.Instant? {
        await withCheckedContinuation { timer in
            perform { $0.timerWaits(timer) }
        }
    }
}
