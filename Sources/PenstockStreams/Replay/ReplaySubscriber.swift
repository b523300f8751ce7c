public import DequeModule

/// What one subscriber of a replay has asked for, and what is there for it, as a value.
@usableFromInline package struct ReplaySubscriber<Element, Listener> {
    @usableFromInline let name: Int
    /// The listener, while nobody speaks to it: only a caller that has it does, so it is told one thing at a time.
    @usableFromInline package var listener: Listener?
    /// Whether there is something to tell the listener, and it stands in line for that.
    @usableFromInline var isCalled = false
    /// How many elements are asked for and not told yet.
    @usableFromInline var demand = 0
    /// What is not told yet, oldest first. Of these, as many as there is demand for are the subscriber's; the others wait.
    @usableFromInline var elements: Deque<Element>
    /// Whether elements are asked for by `request` alone, and not by coming for them.
    @usableFromInline var asksInAdvance: Bool
    /// Whether it fell behind too far, and gets no more than what is there for it.
    @usableFromInline var isCut = false

    @inlinable init(name: Int, remembered: Deque<Element>, asksInAdvance: Bool) {
        self.name = name
        elements = remembered
        self.asksInAdvance = asksInAdvance
    }

    /// Whether another element would be one too many.
    @inlinable func isFull(_ limit: Int) -> Bool { elements.count - demand >= limit && !isCut }

    /// Takes the next element that was asked for.
    @inlinable mutating func take() -> Element? {
        guard demand > 0, let element = elements.popFirst() else { return nil }
        if demand < .max { demand -= 1 }
        return element
    }

    /// Asks for so many elements more.
    @inlinable mutating func ask(_ count: Int) {
        precondition(count >= 0, "A demand cannot be taken back.")
        demand = demand.addingUpToMax(count)
    }
}

extension ReplaySubscriber: Sendable where Element: Sendable, Listener: Sendable {}
