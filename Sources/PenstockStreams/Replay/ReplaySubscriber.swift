public import DequeModule

/// What one subscriber of a replay has asked for, and what is there for it, as a value.
@usableFromInline package struct ReplaySubscriber<Element, Listener> {
    /// Where the listener is. Only a caller that has it speaks to it, so it is told one thing at a time.
    @usableFromInline enum Turn {
        /// With the caller that speaks to it, or it has not come yet.
        case elsewhere
        /// It hears what comes next.
        case listens(Listener)
        /// There is something to tell it, and it stands in line for that.
        case called(Listener)
    }

    @usableFromInline let name: Int
    @usableFromInline var turn = Turn.elsewhere
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

    /// The listener, when it hears what comes next, or waits to be told.
    @inlinable package var listener: Listener? {
        switch turn {
        case .elsewhere: nil
        case .listens(let listener), .called(let listener): listener
        }
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
extension ReplaySubscriber.Turn: Sendable where Element: Sendable, Listener: Sendable {}
