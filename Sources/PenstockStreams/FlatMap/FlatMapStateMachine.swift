public import DequeModule

/// What a bounded flatMap does, as a value: events go in, and one action comes out for the caller to perform.
///
/// It holds no lock and starts no task. Whoever waits is a `Consumer` or a `Producer`: continuations in the storage,
/// plain names in tests. A producer is the upstream loop that wishes to ask for an element, or the loop of an inner
/// sequence that wishes to hand over a value; each suspends until an action lets it go on or stops it.
///
/// ```
/// idle --next--> running --failed, letGo--> stopping --tasksEnded--> ended
///   \                \--------------tasksEnded-------------------------^
///    \---------------------------------letGo---------------------------^
/// ```
@usableFromInline
struct FlatMapStateMachine<
    Element: Sendable, Failure: Error, Consumer: Sendable, Producer: Sendable
>: Sendable {
    /// What the caller is to do.
    @usableFromInline enum Action: Sendable {
        case none
        /// Begin to read upstream.
        case start
        /// Give the element to the consumer, and let the inner sequence that it came from go on.
        case give(Element, to: Consumer, from: Producer)
        /// Tell the consumer that no more elements come, and why if it was a failure.
        case end(Consumer, Failure?)
        /// Let the producer go on.
        case goOn(Producer)
        /// Tell the producer that nobody wants more of it.
        case stop(Producer)
        /// Cancel all tasks, and tell these producers that nobody wants more of them.
        case cancel([Producer])
    }

    @usableFromInline enum Phase: Sendable {
        /// Nobody has asked for an element yet, and nothing runs.
        case idle
        case running
        /// Everything is cancelled, and something may still run.
        case stopping
        /// Nothing runs any more.
        case ended
    }

    @usableFromInline var phase = Phase.idle
    /// How many elements upstream may still be asked for now.
    @usableFromInline var asksLeft: Int
    /// The upstream loop, while it waits until it may ask.
    @usableFromInline var upstream: Producer?
    /// Values that nobody has taken yet, as they came. Each holds up its inner sequence, so there is at most one of
    /// each.
    @usableFromInline var waiting: Deque<(value: Element, inner: Producer)> = []
    /// The consumer that waits for the next element. While it does, `waiting` is empty.
    @usableFromInline var consumer: Consumer?
    /// Why the stream stopped, until the consumer is told.
    @usableFromInline var failure: Failure?

    @inlinable init(maxConcurrent: Int) {
        asksLeft = maxConcurrent
    }

    /// The consumer wants an element.
    @inlinable mutating func next(_ consumer: Consumer) -> Action {
        precondition(self.consumer == nil, "next() was called while another call of it was under way.")
        switch phase {
        case .idle:
            phase = .running
            self.consumer = consumer
            return .start
        case .running:
            if let (value, inner) = waiting.popFirst() { return .give(value, to: consumer, from: inner) }
            self.consumer = consumer
            return .none
        case .stopping:
            self.consumer = consumer
            return .none
        case .ended:
            defer { failure = nil }
            return .end(consumer, failure)
        }
    }

    /// The upstream loop would ask for an element.
    @inlinable mutating func upstreamAsks(_ upstream: Producer) -> Action {
        guard phase == .running else { return .stop(upstream) }
        guard asksLeft > 0 else {
            self.upstream = upstream
            return .none
        }
        asksLeft -= 1
        return .goOn(upstream)
    }

    /// An inner sequence gave a value.
    @inlinable mutating func innerProduced(_ value: Element, _ inner: Producer) -> Action {
        guard phase == .running else { return .stop(inner) }
        guard let consumer = consumer.take() else {
            waiting.append((value, inner))
            return .none
        }
        return .give(value, to: consumer, from: inner)
    }

    /// An inner sequence finished, which makes room for another.
    @inlinable mutating func innerFinished() -> Action {
        guard phase == .running else { return .none }
        guard let upstream = upstream.take() else {
            asksLeft += 1
            return .none
        }
        return .goOn(upstream)
    }

    /// Upstream or an inner sequence failed. The first failure is the one that counts.
    @inlinable mutating func failed(_ failure: Failure) -> Action {
        guard phase == .running else { return .none }
        self.failure = failure
        return stop()
    }

    /// The consumer was cancelled, or let its iterator go.
    @inlinable mutating func letGo() -> Action {
        switch phase {
        case .idle:
            phase = .ended
            return .none
        case .running:
            return stop()
        case .stopping, .ended:
            return .none
        }
    }

    /// Upstream and all inner sequences have ended, and no task runs any more.
    @inlinable mutating func tasksEnded() -> Action {
        phase = .ended
        guard let consumer = consumer.take() else { return .none }
        defer { failure = nil }
        return .end(consumer, failure)
    }

    @inlinable mutating func stop() -> Action {
        phase = .stopping
        var stopped = waiting.map(\.inner)
        waiting = []
        if let upstream = upstream.take() { stopped.append(upstream) }
        return .cancel(stopped)
    }
}

extension FlatMapStateMachine.Action: Equatable
where Element: Equatable, Failure: Equatable, Consumer: Equatable, Producer: Equatable {}
