/// What one iteration of a buffer does beside its core, as a value: its consumer, its tasks, and how far they are.
///
/// A puller is the loop that reads upstream; it suspends while the buffer is paused.
@usableFromInline
struct BufferStateMachine<
    Element: Sendable, Failure: Error, Consumer: Sendable, Puller: Sendable
>: Sendable {
    /// What the caller is to do.
    @usableFromInline
    enum Action: Sendable {
        /// Begin to read upstream.
        case start
        /// Ask upstream for so many elements more.
        case ask(Int)
        /// Let the puller come for an element.
        case goOn(Puller)
        /// Tell the puller that nobody wants more of it.
        case stop(Puller)
        case give(Element, to: Consumer)
        /// Tell the consumer that no more elements come, and why if it was a failure.
        case end(Consumer, Failure?)
        /// The element was discarded: tell the one that counts these.
        case discard(Element)
        /// The element was discarded, and for that the stream is to fail.
        case overflow(Element)
        /// Cancel all tasks.
        case cancel
        /// Let go of these, where no lock is held.
        case release([Element])
    }

    @usableFromInline var phase = IterationPhase<Failure>.idle
    @usableFromInline var core: BufferCore<Element, Failure>
    /// The consumer that has come for the next element. While it waits, nothing is promised.
    @usableFromInline var consumer: Consumer?
    /// Whether elements are asked for by `request` alone, before the consumer comes for them.
    @usableFromInline var asksInAdvance = false
    /// The loop that reads upstream, while it is paused.
    @usableFromInline var puller: Puller?

    @inlinable init(_ core: BufferCore<Element, Failure>) {
        self.core = core
    }

    /// Downstream asks for elements that it will come for.
    @inlinable mutating func request(_ count: Int) -> [Action] {
        precondition(count >= 0, "A demand cannot be taken back.")
        asksInAdvance = true
        core.request(count)
        return giveToConsumer() + askForMore()
    }

    /// Downstream comes for an element that is there already. Returns also what that lets be asked of upstream.
    @inlinable mutating func take() -> (element: Element, asking: [Action])? {
        if !asksInAdvance, core.hasWaiting { core.request(1) }
        guard core.hasPromised, case .give(let element)? = core.next() else { return nil }
        return (element, askForMore())
    }

    /// Downstream comes for an element, and waits when there is none.
    @inlinable mutating func next(_ consumer: Consumer) -> [Action] {
        precondition(self.consumer == nil, "next() was called while another call of it was under way.")
        if let (element, asking) = take() { return [.give(element, to: consumer)] + asking }
        switch phase {
        case .idle:
            phase = .running
            return [.start] + wait(consumer)
        case .running:
            return wait(consumer)
        case .stopping:
            self.consumer = consumer
            return []
        case .ended(let failure):
            phase = .ended(nil)
            return [.end(consumer, failure)]
        }
    }

    /// Whether the puller may come for an element (true), is to stop (false), or has to wait (nil).
    @inlinable var mayPull: Bool? {
        guard phase.isRunning else { return false }
        return core.isOwed ? true : nil
    }

    /// The puller would come for an element, and waits while it may not.
    @inlinable mutating func pullerAsks(_ puller: Puller) -> Action? {
        guard let mayPull else {
            self.puller = puller
            return nil
        }
        return mayPull ? .goOn(puller) : .stop(puller)
    }

    /// Upstream gave an element.
    @inlinable mutating func arrived(_ element: Element) -> Action? {
        guard phase.isRunning else { return nil }
        core.arrived(element)
        switch core.next(giving: consumer != nil) {
        case .give(let element): return consumer.take().map { .give(element, to: $0) }
        case .discard(let element): return .discard(element)
        case .overflow(let element): return .overflow(element)
        case .end, nil: return nil
        }
    }

    /// Upstream failed, or the buffer's overflow does. What was asked for and has arrived is still there.
    @inlinable mutating func failed(_ failure: Failure) -> [Action] {
        guard phase.isRunning else { return [] }
        return stop(.stopping(failure), lettingGo: core.ended(.failed(failure)))
    }

    /// The consumer was cancelled, or let its iterator go.
    @inlinable mutating func letGo() -> [Action] {
        let forgotten = core.cancelled()
        switch phase {
        case .idle:
            phase = .ended(nil)
            return []
        case .running:
            return stop(.stopping(nil), lettingGo: forgotten)
        case .stopping, .ended:
            return release(forgotten)
        }
    }

    /// Upstream has ended, and no task runs any more.
    @inlinable mutating func tasksEnded() -> Action? {
        phase.tasksEnded()
        guard case .ended(let failure) = phase, let consumer = consumer.take() else { return nil }
        phase = .ended(nil)
        return .end(consumer, failure)
    }

    @inlinable mutating func wait(_ consumer: Consumer) -> [Action] {
        self.consumer = consumer
        if !asksInAdvance { core.request(1) }
        return askForMore()
    }

    @inlinable mutating func giveToConsumer() -> [Action] {
        guard let consumer, core.hasPromised, case .give(let element)? = core.next() else { return [] }
        self.consumer = nil
        return [.give(element, to: consumer)]
    }

    /// Asks for what demand has made room for.
    @inlinable mutating func askForMore() -> [Action] {
        guard phase.isRunning else { return [] }
        let count = core.takeAsk()
        guard count > 0 else { return [] }
        guard let puller = puller.take() else { return [.ask(count)] }
        return [.ask(count), .goOn(puller)]
    }

    @inlinable mutating func stop(_ phase: IterationPhase<Failure>, lettingGo waiting: [Element]) -> [Action] {
        self.phase = phase
        guard let puller = puller.take() else { return [.cancel] + release(waiting) }
        return [.cancel, .stop(puller)] + release(waiting)
    }

    @inlinable func release(_ waiting: [Element]) -> [Action] {
        waiting.isEmpty ? [] : [.release(waiting)]
    }
}

extension BufferStateMachine.Action: Equatable
where Element: Equatable, Failure: Equatable, Consumer: Equatable, Puller: Equatable {}
