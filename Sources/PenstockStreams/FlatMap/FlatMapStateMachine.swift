public import DequeModule

/// What an iteration of a bounded flatMap does, as a value: events go in, and an action may come out for the caller to
/// perform. How many inner sequences run, and whose value is next, its ``FlatMapCore`` decides.
///
/// It holds no lock and starts no task. What waits is a `Consumer` or a `Producer`: continuations in the storage, plain names
/// in tests. A producer is one of three, and suspends until an action lets it go on (true) or stops it:
///
/// - the inner sequence that has a value which nobody has taken;
/// - a slot, which reads one inner sequence after the other, and waits for its turn to read an element of upstream;
/// - the spawner, which makes another slot when there is a turn and no slot waits for it.
@usableFromInline
struct FlatMapStateMachine<
    Element: Sendable, Failure: Error, Consumer: Sendable, Producer: Sendable
>: Sendable {
    /// What the caller is to do.
    @usableFromInline enum Action: Sendable {
        /// Begin to read upstream.
        case start
        /// Give the element to the consumer, and let the inner sequence that it came from go on.
        case give(Element, to: Consumer, from: Producer)
        /// Tell the consumer that no more elements come, and why if it was a failure.
        case end(Consumer, Failure?)
        /// Tell the producer whether to go on.
        case goOn(Producer, Bool)
        /// Tell these producers that nothing is left for them.
        case rest([Producer])
        /// Cancel all tasks, tell these producers that nobody wants more of them, and let the elements go.
        case cancel([Producer], [Element])
    }

    /// What an inner sequence is to do with a value.
    @usableFromInline enum Offer: Sendable {
        /// Give it to the consumer, and go on.
        case give(to: Consumer)
        case wait
        /// Nobody wants it.
        case stop
    }

    @usableFromInline var phase = IterationPhase<Failure>.idle
    @usableFromInline var core: FlatMapCore<Element, Producer>
    /// Whether a slot reads upstream, and no other may.
    @usableFromInline var hasReader = false
    /// The slots that wait for their turn.
    @usableFromInline var slots: [Producer] = []
    @usableFromInline var spawner: Producer?
    /// The consumer that waits for the next element. While it does, no value waits.
    @usableFromInline var consumer: Consumer?

    @inlinable init(maxConcurrent: Int) {
        core = FlatMapCore(maxConcurrent: maxConcurrent)
    }

    // MARK: The consumer

    /// Takes a value that waits. The inner sequence that it came from is to go on.
    @inlinable mutating func take() -> (value: Element, inner: Producer)? {
        guard !core.waiting.isEmpty else { return nil }
        core.request(1)
        return core.next()
    }

    /// The consumer wants an element.
    @inlinable mutating func next(_ consumer: Consumer) -> Action? {
        precondition(self.consumer == nil, "next() was called while another call of it was under way.")
        if let (value, inner) = take() { return .give(value, to: consumer, from: inner) }
        if case .ended(let failure) = phase {
            phase = .ended(nil)
            return .end(consumer, failure)
        }
        self.consumer = consumer
        core.request(1)
        guard case .idle = phase else { return nil }
        phase = .running
        return .start
    }

    /// The consumer was cancelled, or let its iterator go.
    @inlinable mutating func letGo() -> Action? {
        if case .idle = phase { phase = .ended(nil) }
        return phase.isRunning ? stop(nil) : nil
    }

    // MARK: Upstream

    /// A slot would read an element of upstream. It does when it is told so, and nobody else does until it has; `nil` when
    /// it is to wait.
    @inlinable mutating func takeTurn() -> Bool? {
        guard phase.isRunning, core.isOpen else { return false }
        guard !hasReader, core.takeAsk(1) == 1 else { return nil }
        hasReader = true
        return true
    }

    /// A slot waits for its turn.
    @inlinable mutating func slotWaits(_ slot: Producer) -> Action? {
        if let hasTurn = takeTurn() { return .goOn(slot, hasTurn) }
        slots.append(slot)
        return nil
    }

    /// The spawner waits until another slot is needed, which then has the turn.
    @inlinable mutating func spawnerWaits(_ spawner: Producer) -> Action? {
        if let hasTurn = takeTurn() { return .goOn(spawner, hasTurn) }
        self.spawner = spawner
        return nil
    }

    /// The slot that had the turn has read an element. Returns whether its inner sequence begins.
    @inlinable mutating func elementCame() -> (begins: Bool, Action?) {
        hasReader = false
        return (core.began(), passTurn())
    }

    /// Upstream finished.
    @inlinable mutating func upstreamFinished() -> Action? {
        core.upstreamFinished()
        return phase.isRunning ? .rest(takeIdle()) : nil
    }

    // MARK: Inner sequences

    /// An inner sequence has a value.
    @inlinable mutating func offer() -> Offer {
        guard phase.isRunning else { return .stop }
        guard let consumer, core.mayGive() else { return .wait }
        self.consumer = nil
        return .give(to: consumer)
    }

    /// An inner sequence waits until its value is taken.
    @inlinable mutating func innerWaits(_ value: Element, _ inner: Producer) -> Action? {
        switch offer() {
        case .give(let consumer): return .give(value, to: consumer, from: inner)
        case .stop: return .goOn(inner, false)
        case .wait:
            core.wait(value, of: inner)
            return nil
        }
    }

    /// An inner sequence finished, and its slot is not yet free to read upstream.
    @inlinable mutating func innerFinished() -> Action? {
        core.ended()
        return passTurn()
    }

    /// An inner sequence finished, and its slot would read upstream.
    @inlinable mutating func innerFinishedAndTakesTurn() -> Bool? {
        core.ended()
        return takeTurn()
    }

    // MARK: The end

    /// Upstream or an inner sequence failed. The first failure is the one that counts.
    @inlinable mutating func failed(_ failure: Failure) -> Action? {
        phase.isRunning ? stop(failure) : nil
    }

    /// Upstream and all inner sequences have ended, and no task runs any more.
    @inlinable mutating func tasksEnded() -> Action? {
        phase.tasksEnded()
        return consumer.take().flatMap { next($0) }
    }

    // MARK: -

    /// Lets a slot that waits for it read upstream, if there is room, or else the spawner make another slot for that.
    @inlinable mutating func passTurn() -> Action? {
        guard !slots.isEmpty || spawner != nil, takeTurn() == true else { return nil }
        return (slots.popLast() ?? spawner.take()).map { .goOn($0, true) }
    }

    @inlinable mutating func takeIdle() -> [Producer] {
        defer { slots = [] }
        return spawner.take().map { slots + [$0] } ?? slots
    }

    @inlinable mutating func stop(_ failure: Failure?) -> Action {
        phase = .stopping(failure)
        let waiting = core.close()
        return .cancel(waiting.map(\.inner) + takeIdle(), waiting.map(\.value))
    }
}

extension FlatMapStateMachine.Action: Equatable
where Element: Equatable, Failure: Equatable, Consumer: Equatable, Producer: Equatable {}
extension FlatMapStateMachine.Offer: Equatable where Consumer: Equatable {}
