public import DequeModule

/// What a delay does, as a value: events go in, and actions come out for the caller to perform in their order.
///
/// A puller is the loop that reads upstream; it suspends while as many elements are held as may be. A timer is the loop
/// that sleeps until the moment of the oldest one; it suspends while there is none, or nobody has taken the last.
///
/// ```
/// idle --next--> running --failed, letGo--> stopping --tasksEnded--> ended
///   \                \--------------tasksEnded-------------------------^
///    \---------------------------------letGo---------------------------^
/// ```
@usableFromInline
struct DelayStateMachine<
    Element: Sendable, Moment: Sendable, Failure: Error, Consumer: Sendable, Puller: Sendable, Timer: Sendable
>: Sendable {
    /// What the caller is to do.
    @usableFromInline enum Action: Sendable {
        /// Begin to read upstream and to keep time.
        case start
        /// Ask upstream for so many elements more.
        case ask(Int)
        /// Let the puller come for an element.
        case goOn(Puller)
        /// Tell the puller that nobody wants more of it.
        case stop(Puller)
        /// Let the timer sleep until the moment.
        case sleep(Timer, until: Moment)
        /// Tell the timer that nobody needs it.
        case rest(Timer)
        /// Give the element to the consumer.
        case give(Element, to: Consumer)
        /// Tell the consumer that no more elements come, and why if it was a failure.
        case end(Consumer, Failure?)
        /// Cancel all tasks.
        case cancel
    }

    @usableFromInline enum Phase: Sendable {
        case idle, running, stopping, ended
    }

    @usableFromInline var phase = Phase.idle
    /// How many elements upstream may still be asked for now.
    @usableFromInline var asksLeft: Int
    @usableFromInline var puller: Puller?
    @usableFromInline var timer: Timer?
    @usableFromInline var consumer: Consumer?
    /// What is held, oldest first, and until when.
    @usableFromInline var held: Deque<(element: Element, due: Moment)> = []
    /// Whether the moment of the oldest one has come.
    @usableFromInline var isDue = false
    /// When upstream's finish is due, once it has come.
    @usableFromInline var finishDue: Moment?
    /// Whether the moment of the finish has come.
    @usableFromInline var isFinished = false
    /// Why the stream stopped, until the consumer is told.
    @usableFromInline var failure: Failure?

    @inlinable init(holding heldMax: Int) {
        asksLeft = heldMax
    }

    /// The consumer wants an element.
    @inlinable mutating func next(_ consumer: Consumer) -> [Action] {
        precondition(self.consumer == nil, "next() was called while another call of it was under way.")
        if phase == .ended {
            defer { failure = nil }
            return [.end(consumer, failure)]
        }
        self.consumer = consumer
        switch phase {
        case .idle:
            phase = .running
            return [.start, .ask(asksLeft)]
        case .running: return giveWhatIsDue()
        case .stopping, .ended: return []
        }
    }

    /// The puller would come for an element.
    @inlinable mutating func pullerAsks(_ puller: Puller) -> [Action] {
        guard phase == .running else { return [.stop(puller)] }
        guard asksLeft > 0 else {
            self.puller = puller
            return []
        }
        asksLeft -= 1
        return [.goOn(puller)]
    }

    /// Upstream gave an element, which is due at the moment.
    @inlinable mutating func arrived(_ element: Element, due: Moment) -> [Action] {
        guard phase == .running else { return [] }
        held.append((element, due))
        return setTimer()
    }

    /// Upstream finished, which is due at the moment.
    @inlinable mutating func upstreamFinished(due: Moment) -> [Action] {
        guard phase == .running else { return [] }
        finishDue = due
        return setTimer()
    }

    /// The timer would sleep until the next moment.
    @inlinable mutating func timerAsks(_ timer: Timer) -> [Action] {
        guard phase == .running, !isFinished else { return [.rest(timer)] }
        self.timer = timer
        return setTimer()
    }

    /// The moment that the timer slept for has come.
    @inlinable mutating func dueCame() -> [Action] {
        guard phase == .running else { return [] }
        if held.isEmpty {
            isFinished = true
            return []
        }
        isDue = true
        return giveWhatIsDue()
    }

    /// Upstream failed.
    @inlinable mutating func failed(_ failure: Failure) -> [Action] {
        guard phase == .running else { return [] }
        self.failure = failure
        return stop()
    }

    /// The consumer was cancelled, or let its iterator go.
    @inlinable mutating func letGo() -> [Action] {
        switch phase {
        case .idle:
            phase = .ended
            return []
        case .running: return stop()
        case .stopping, .ended: return []
        }
    }

    /// Upstream has ended, and no task runs any more.
    @inlinable mutating func tasksEnded() -> [Action] {
        phase = .ended
        guard let consumer = consumer.take() else { return [] }
        defer { failure = nil }
        return [.end(consumer, failure)]
    }

    @inlinable mutating func giveWhatIsDue() -> [Action] {
        guard isDue, let consumer = consumer.take(), let (element, _) = held.popFirst() else { return [] }
        isDue = false
        var actions = [Action.give(element, to: consumer), .ask(1)]
        if let puller = puller.take() { actions.append(.goOn(puller)) } else { asksLeft += 1 }
        return actions + setTimer()
    }

    /// Lets the timer sleep, if it waits for that and there is a moment to sleep for.
    @inlinable mutating func setTimer() -> [Action] {
        guard !isDue, let due = held.first?.due ?? finishDue, let timer = timer.take() else { return [] }
        return [.sleep(timer, until: due)]
    }

    @inlinable mutating func stop() -> [Action] {
        phase = .stopping
        held = []
        var actions = [Action.cancel]
        if let puller = puller.take() { actions.append(.stop(puller)) }
        if let timer = timer.take() { actions.append(.rest(timer)) }
        return actions
    }
}

extension DelayStateMachine.Action: Equatable
where
    Element: Equatable, Moment: Equatable, Failure: Equatable, Consumer: Equatable, Puller: Equatable,
    Timer: Equatable
{}
