public import DequeModule
public import PenstockStreams
public import Synchronization

/// What the consumer has asked for and was given, and the lock around it.
///
/// A delivery that was given is the consumer's, which works on it or is about to come for it: it counts as waiting no more.
@usableFromInline
final class DeliveryOutlet<Element: Sendable>: Sendable {
    @usableFromInline typealias Consumer = StreamConsumer<Delivery<Element>, any Error>

    @usableFromInline struct State {
        @usableFromInline var phase = IterationPhase<any Error>.idle
        /// How many deliveries are asked for and not given yet.
        @usableFromInline var demand = 0
        /// Whether they are asked for by `request` alone.
        @usableFromInline var asksInAdvance = false
        /// Deliveries that were asked for in advance and given, and that the consumer has not come for yet.
        @usableFromInline var given: Deque<Delivery<Element>> = []
        /// The consumer that has come for the next delivery. While it waits, `given` is empty.
        @usableFromInline var consumer: Consumer?

        @inlinable init() {}
    }

    @usableFromInline let state = Mutex(State())

    @inlinable init() {}

    @inlinable func request(_ count: Int) {
        precondition(count >= 0, "A demand cannot be taken back.")
        state.withLock { state in
            state.asksInAdvance = true
            state.demand = state.demand.addingUpToMax(count)
        }
    }

    /// Takes a delivery that the consumer was given in advance.
    @inlinable func take() -> Delivery<Element>? {
        state.withLock { $0.given.popFirst() }
    }

    /// Returns whether this is the beginning, and how much more is asked for.
    @inlinable func next(_ consumer: Consumer) -> (mustStart: Bool, count: Int) {
        let (mustStart, count, answer) = state.withLock {
            state -> (Bool, Int, Result<Delivery<Element>?, any Error>?) in
            precondition(state.consumer == nil, "next() was called while another call of it was under way.")
            if let delivery = state.given.popFirst() { return (false, 0, .success(delivery)) }
            if case .ended(let failure) = state.phase {
                state.phase = .ended(nil)
                return (false, 0, failure.map { .failure($0) } ?? .success(nil))
            }
            state.consumer = consumer
            if case .stopping = state.phase { return (false, 0, nil) }
            let mustStart = !state.phase.isRunning
            state.phase = .running
            if state.asksInAdvance { return (mustStart, 0, nil) }
            state.demand = 1
            return (mustStart, 1, nil)
        }
        if let answer { consumer.resume(returning: answer) }
        return (mustStart, count)
    }

    /// Gives what the consumer has asked for, one at least, and wakes it once.
    @inlinable func give(_ deliveries: [Delivery<Element>]) -> Bool {
        let (isTaken, consumer) = state.withLock { state -> (Bool, Consumer?) in
            guard state.phase.isRunning else { return (false, nil) }
            precondition(
                state.demand >= deliveries.count, "A delivery was given that the consumer had not asked for.")
            if state.demand < .max { state.demand -= deliveries.count }
            let consumer = state.consumer.take()
            state.given.append(contentsOf: deliveries.dropFirst(consumer == nil ? 0 : 1))
            return (true, consumer)
        }
        consumer?.resume(returning: .success(deliveries[0]))
        return isTaken
    }

    /// Returns what was given and the consumer has not come for, and whether the stream ran until now.
    @inlinable func letGo() -> (left: [Delivery<Element>], isRunning: Bool) {
        state.withLock { state in
            // An array of an empty deque is written to, though all empty arrays share their storage: a race, if a harmless one.
            let left = state.given.isEmpty ? [] : Array(state.given)
            state.given = []
            let wasRunning = state.phase.isRunning
            if wasRunning { state.phase = .stopping(nil) }
            if case .idle = state.phase { state.phase = .ended(nil) }
            return (left, wasRunning)
        }
    }

    @inlinable func end(_ failure: (any Error)?) {
        let (consumer, failure) = state.withLock { state -> (Consumer?, (any Error)?) in
            let failure = state.phase.isRunning ? failure : nil
            let consumer = state.consumer.take()
            state.phase = .ended(consumer == nil ? failure : nil)
            return (consumer, failure)
        }
        consumer?.end(failure)
    }
}
