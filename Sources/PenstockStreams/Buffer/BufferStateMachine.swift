public import DequeModule

/// What a buffer does, as a value: events go in, and actions come out for the caller to perform in their order.
///
/// A puller is the loop that reads upstream; it suspends while the buffer is paused. How many elements upstream owes is
/// kept as a number, `owed`: with `keepFull` these are as many as would be asked for one by one until one overflows,
/// that is the demand, the free places, and one more. So a source that sends several at once is taken at its word, and
/// the pause begins at the same element.
///
/// ```
/// idle --next--> running --failed, letGo--> stopping --tasksEnded--> ended
///   \                \--------------tasksEnded-------------------------^
///    \---------------------------------letGo---------------------------^
/// ```
@usableFromInline
struct BufferStateMachine<
    Element: Sendable, Failure: Error, Consumer: Sendable, Puller: Sendable
>: Sendable {
    /// What the caller is to do.
    @usableFromInline enum Action: Sendable {
        /// Begin to read upstream.
        case start
        /// Ask upstream for so many elements more.
        case ask(Int)
        /// Let the puller come for an element.
        case goOn(Puller)
        /// Tell the puller that nobody wants more of it.
        case stop(Puller)
        /// Give the element to the consumer.
        case give(Element, to: Consumer)
        /// Tell the consumer that no more elements come, and why if it was a failure.
        case end(Consumer, Failure?)
        /// The element was discarded: tell the one that counts these.
        case discard(Element)
        /// The element was discarded, and for that the stream is to fail.
        case overflow(Element)
        /// Cancel all tasks.
        case cancel
    }

    @usableFromInline enum Phase: Sendable {
        case idle, running, stopping, ended
    }

    @usableFromInline let size: Int
    @usableFromInline let prefetch: BufferPrefetch
    @usableFromInline let whenFull: BufferOverflow<Failure>
    @usableFromInline var phase = Phase.idle
    @usableFromInline var downstream = Downstream<Element, Consumer>()
    /// What waits for demand, oldest first. While there is demand, it is empty.
    @usableFromInline var waiting: Deque<Element> = []
    /// How many elements upstream was asked for and has not given.
    @usableFromInline var owed = 0
    /// The loop that reads upstream, while it is paused.
    @usableFromInline var puller: Puller?
    /// Why the stream stopped, until the consumer is told.
    @usableFromInline var failure: Failure?

    @inlinable init(size: Int, prefetch: BufferPrefetch, whenFull: BufferOverflow<Failure>) {
        self.size = size
        self.prefetch = prefetch
        self.whenFull = whenFull
    }

    /// Downstream asks for elements that it will come for.
    @inlinable mutating func request(_ count: Int) -> [Action] {
        downstream.request(count)
        return deliverWaiting()
    }

    /// Downstream comes for an element.
    @inlinable mutating func next(_ consumer: Consumer) -> [Action] {
        if let element = downstream.next(consumer) { return [.give(element, to: consumer)] }
        switch phase {
        case .idle:
            phase = .running
            return [.start] + askForMore()
        case .running:
            return deliverWaiting()
        case .stopping:
            return []
        case .ended:
            return deliverWaiting() + end()
        }
    }

    /// The puller would come for an element.
    @inlinable mutating func pullerAsks(_ puller: Puller) -> [Action] {
        guard phase == .running else { return [.stop(puller)] }
        guard owed > 0 else {
            self.puller = puller
            return []
        }
        return [.goOn(puller)]
    }

    /// Upstream gave an element.
    @inlinable mutating func arrived(_ element: Element) -> [Action] {
        guard phase == .running else { return [] }
        if owed < .max { owed -= 1 }
        if downstream.demand > 0 {
            return downstream.deliver(element).map { [.give(element, to: $0)] } ?? []
        }
        guard waiting.count >= size else {
            waiting.append(element)
            return []
        }
        switch whenFull {
        case .dropNewest:
            return [.discard(element)]
        case .dropOldest:
            guard let oldest = waiting.popFirst() else { return [.discard(element)] }
            waiting.append(element)
            return [.discard(oldest)]
        case .customError:
            return [.overflow(element)]
        }
    }

    /// Upstream failed, or the buffer's overflow does.
    @inlinable mutating func failed(_ failure: Failure) -> [Action] {
        guard phase == .running else { return [] }
        self.failure = failure
        return stop()
    }

    /// The consumer was cancelled, or let its iterator go.
    @inlinable mutating func letGo() -> [Action] {
        downstream.forgetDelivered()
        switch phase {
        case .idle:
            phase = .ended
            return []
        case .running:
            return stop()
        case .stopping:
            return []
        case .ended:
            waiting = []
            return []
        }
    }

    /// Upstream has ended, and no task runs any more.
    @inlinable mutating func tasksEnded() -> [Action] {
        phase = .ended
        return end()
    }

    @inlinable mutating func deliverWaiting() -> [Action] {
        var actions: [Action] = []
        while downstream.demand > 0, let element = waiting.popFirst() {
            if let consumer = downstream.deliver(element) { actions.append(.give(element, to: consumer)) }
        }
        return actions + askForMore()
    }

    /// Asks for what demand has made room for.
    @inlinable mutating func askForMore() -> [Action] {
        guard phase == .running else { return [] }
        let room =
            switch prefetch {
            case .byRequest: Int.max
            case .keepFull: downstream.demand.addingUpToMax(size - waiting.count).addingUpToMax(1)
            }
        guard room > owed else { return [] }
        defer { owed = room }
        let ask = Action.ask(room - owed)
        guard let puller = puller.take() else { return [ask] }
        return [ask, .goOn(puller)]
    }

    @inlinable mutating func end() -> [Action] {
        guard let consumer = downstream.takeConsumer() else { return [] }
        defer { failure = nil }
        return [.end(consumer, failure)]
    }

    @inlinable mutating func stop() -> [Action] {
        phase = .stopping
        waiting = []
        guard let puller = puller.take() else { return [.cancel] }
        return [.cancel, .stop(puller)]
    }
}

extension BufferStateMachine.Action: Equatable
where Element: Equatable, Failure: Equatable, Consumer: Equatable, Puller: Equatable {}
