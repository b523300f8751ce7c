public import DequeModule

/// What one downstream has asked for, and what was delivered to it, as a value.
///
/// A delivered element is downstream's: it works on it, or is about to come for it. It never counts as waiting.
@usableFromInline package struct Downstream<Element: Sendable, Consumer: Sendable>: Sendable {
    /// How many elements are asked for and not delivered yet.
    @usableFromInline package var demand = 0
    /// Elements that were asked for in advance and delivered, and that nobody has come for yet.
    @usableFromInline var delivered: Deque<Element> = []
    /// The consumer that has come for the next element. While it waits, `delivered` is empty.
    @usableFromInline var consumer: Consumer?
    /// Whether elements are asked for by `request` alone.
    @usableFromInline var asksInAdvance = false

    /// Whether somebody waits for an element.
    @inlinable package var isWaiting: Bool { consumer != nil }

    /// Makes a downstream that has asked for nothing.
    @inlinable package init() {}

    /// Asks for so many elements more.
    @inlinable package mutating func request(_ count: Int) {
        precondition(count >= 0, "A demand cannot be taken back.")
        asksInAdvance = true
        demand = demand.addingUpToMax(count)
    }

    /// Somebody comes for an element: it is here already, or they wait.
    @inlinable package mutating func next(_ consumer: Consumer) -> Element? {
        precondition(self.consumer == nil, "next() was called while another call of it was under way.")
        if let element = delivered.popFirst() { return element }
        self.consumer = consumer
        if !asksInAdvance { demand = 1 }
        return nil
    }

    /// Delivers an element that was asked for. Returns who is to be given it now.
    @inlinable package mutating func deliver(_ element: Element) -> Consumer? {
        precondition(demand > 0, "An element was delivered that nobody had asked for.")
        if demand < .max { demand -= 1 }
        guard let consumer = consumer.take() else {
            delivered.append(element)
            return nil
        }
        return consumer
    }

    /// Takes out the consumer that waits, to be told of the end.
    @inlinable package mutating func takeConsumer() -> Consumer? {
        consumer.take()
    }

    /// Takes out what was delivered and not come for.
    @inlinable package mutating func takeDelivered() -> [Element] {
        defer { delivered = [] }
        // An array of an empty deque is written to, though all empty arrays share their storage: a race, if a harmless one.
        return delivered.isEmpty ? [] : Array(delivered)
    }
}
