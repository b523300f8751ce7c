/// What an iteration of a delay does, as a value: events go in, and an action may come out for the caller to perform.
/// What is due, and when, its ``DelayCore`` decides.
///
/// A puller is the loop that reads upstream; it suspends while as many elements are held as may be. A timer is the loop
/// that sleeps until the next moment; it suspends while there is none.
@usableFromInline
struct DelayStateMachine<
    Element: Sendable, Moment: Comparable & Sendable, Failure: Error, Consumer: Sendable, Puller: Sendable,
    Timer: Sendable
>: Sendable {
    /// What the caller is to do.
    @usableFromInline enum Action: Sendable {
        /// Ask upstream for so many elements, and begin to read it and to keep time.
        case start(Int)
        /// Give the element to the consumer, ask upstream for one more, and let the puller come for it.
        case give(Element, to: Consumer, Puller?)
        /// Tell the puller whether to come for an element.
        case goOn(Puller, Bool)
        /// Let the timer sleep until the moment, or rest when nobody needs it.
        case sleep(Timer, until: Moment?)
        /// Tell the consumer that no more elements come, and why if it was a failure.
        case end(Consumer, Failure?)
        /// Cancel all tasks, tell these that nobody needs them, and let the elements go.
        case stop(Puller?, Timer?, [Element])
    }

    @usableFromInline var phase = IterationPhase<Failure>.idle
    @usableFromInline var core = DelayCore<Element, Moment>()
    /// How many elements upstream may still be asked for now.
    @usableFromInline var asksLeft: Int
    @usableFromInline var puller: Puller?
    @usableFromInline var timer: Timer?
    /// The consumer that waits for the next element. While it does, nothing is due.
    @usableFromInline var consumer: Consumer?

    @inlinable init(holding heldMax: Int) {
        asksLeft = heldMax
    }

    /// Takes an element that is due. Upstream is to be asked for one more, and the puller to come for it.
    @inlinable mutating func take() -> (element: Element, puller: Puller?)? {
        guard case .give(let element)? = core.next() else { return nil }
        guard let puller = puller.take() else {
            asksLeft += 1
            return (element, nil)
        }
        return (element, puller)
    }

    /// The consumer wants an element.
    @inlinable mutating func next(_ consumer: Consumer) -> Action? {
        precondition(self.consumer == nil, "next() was called while another call of it was under way.")
        if let (element, puller) = take() { return .give(element, to: consumer, puller) }
        switch phase {
        case .idle:
            phase = .running
            self.consumer = consumer
            return .start(asksLeft)
        case .running, .stopping:
            self.consumer = consumer
            return nil
        case .ended(let failure):
            phase = .ended(nil)
            return .end(consumer, failure)
        }
    }

    /// Whether the puller may come for an element now, which it then does; `nil` when it is to wait.
    @inlinable mutating func mayPull() -> Bool? {
        guard phase.isRunning else { return false }
        guard asksLeft > 0 else { return nil }
        asksLeft -= 1
        return true
    }

    /// The puller waits until it may come for an element.
    @inlinable mutating func pullerWaits(_ puller: Puller) -> Action? {
        if let goesOn = mayPull() { return .goOn(puller, goesOn) }
        self.puller = puller
        return nil
    }

    /// Upstream gave an element, which is due at the moment.
    @inlinable mutating func arrived(_ element: Element, due: Moment) -> Action? {
        core.arrived(element, due: due)
        return setTimer()
    }

    /// Upstream finished, which is due at the moment.
    @inlinable mutating func upstreamFinished(due: Moment) -> Action? {
        core.finished(due: due)
        return setTimer()
    }

    /// The timer waits for the next moment.
    @inlinable mutating func timerWaits(_ timer: Timer) -> Action? {
        guard phase.isRunning, !core.isTimeless else { return .sleep(timer, until: nil) }
        self.timer = timer
        return setTimer()
    }

    /// The moment that the timer slept for has come: it is as late as `time` by the clock.
    @inlinable mutating func dueCame(_ time: Moment) -> Action? {
        core.came(time)
        guard let consumer, let (element, puller) = take() else { return nil }
        self.consumer = nil
        return .give(element, to: consumer, puller)
    }

    /// Upstream failed.
    @inlinable mutating func failed(_ failure: Failure) -> Action? {
        phase.isRunning ? stop(failure) : nil
    }

    /// The consumer was cancelled, or let its iterator go.
    @inlinable mutating func letGo() -> Action? {
        switch phase {
        case .idle:
            phase = .ended(nil)
            return nil
        case .running: return stop(nil)
        case .stopping: return nil
        case .ended: return .stop(nil, nil, core.close())
        }
    }

    /// Upstream has ended, and no task runs any more.
    @inlinable mutating func tasksEnded() -> Action? {
        phase.tasksEnded()
        return consumer.take().flatMap { next($0) }
    }

    /// Lets the timer sleep, if it waits for that and there is a moment to sleep for.
    @inlinable mutating func setTimer() -> Action? {
        guard timer != nil, let moment = core.takeMoment() else { return nil }
        return timer.take().map { .sleep($0, until: moment) }
    }

    @inlinable mutating func stop(_ failure: Failure?) -> Action {
        phase = .stopping(failure)
        return .stop(puller.take(), timer.take(), core.close())
    }
}

extension DelayStateMachine.Action: Equatable
where Element: Equatable, Failure: Equatable, Consumer: Equatable, Puller: Equatable, Timer: Equatable {}
