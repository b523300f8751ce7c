public import DequeModule

/// What waits for one subscriber of a replay, as a value.
@usableFromInline struct ReplaySubscriber<Element: Sendable, Consumer: Sendable>: Sendable {
    /// What a subscriber does with an element that finds its backlog full. The sender is to look for that before.
    @usableFromInline enum Overflow {
        case dropOldest, cut
    }

    /// What comes of an element that is sent to a subscriber.
    @usableFromInline enum Outcome {
        case kept
        case given(to: Consumer)
        case dropped(Element)
    }

    @usableFromInline let limit: Int
    @usableFromInline var downstream = Downstream<Element, Consumer>()
    /// What waits for demand, oldest first. While there is demand, it is empty.
    @usableFromInline var waiting: Deque<Element>
    /// Whether the subscriber fell behind too far, and gets no more than what waits for it.
    @usableFromInline var isCut = false

    @inlinable init(limit: Int, remembered: Deque<Element>) {
        self.limit = limit
        waiting = remembered
    }

    @inlinable var isWaiting: Bool { downstream.isWaiting }

    /// Whether another element would overflow.
    @inlinable var isFull: Bool { downstream.demand == 0 && waiting.count >= limit && !isCut }

    /// Asks for so many elements more. Returns who is to be given which.
    @inlinable mutating func request(_ count: Int) -> (Element, Consumer)? {
        downstream.request(count)
        return deliverWaiting()
    }

    /// Somebody comes for an element. Returns who is to be given which.
    @inlinable mutating func next(_ consumer: Consumer) -> (Element, Consumer)? {
        if let element = downstream.next(consumer) { return (element, consumer) }
        return deliverWaiting()
    }

    @inlinable mutating func receive(_ element: Element, whenFull: Overflow) -> Outcome {
        guard !isCut else { return .kept }
        if downstream.demand > 0 {
            return downstream.deliver(element).map { .given(to: $0) } ?? .kept
        }
        guard isFull else {
            waiting.append(element)
            return .kept
        }
        switch whenFull {
        case .dropOldest:
            waiting.append(element)
            return waiting.popFirst().map { .dropped($0) } ?? .kept
        case .cut:
            isCut = true
            return .kept
        }
    }

    @inlinable mutating func takeConsumer() -> Consumer? {
        downstream.takeConsumer()
    }

    @inlinable mutating func deliverWaiting() -> (Element, Consumer)? {
        var given: (Element, Consumer)?
        while downstream.demand > 0, let element = waiting.popFirst() {
            // Only the first can find somebody who waits.
            if let consumer = downstream.deliver(element) { given = (element, consumer) }
        }
        return given
    }
}
