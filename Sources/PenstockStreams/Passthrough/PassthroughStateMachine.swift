/// What a passthrough subject does, as a value: events go in, and actions come out for the caller to perform.
///
/// Subscribers are told of the end when they come for the next element, and are forgotten with that. An unknown name is
/// one whose subscription is over.
@usableFromInline struct PassthroughStateMachine<Element: Sendable, Failure: Error, Consumer: Sendable>: Sendable {
    /// Names one subscription.
    @usableFromInline typealias Name = UInt64

    /// What the caller is to do.
    @usableFromInline enum Action: Sendable {
        /// Give the element to the consumer.
        case give(Element, to: Consumer)
        /// Tell the consumer that no more elements come, and why if it was a failure.
        case end(Consumer, Failure?)
    }

    @usableFromInline var subscribers: [Name: Downstream<Element, Consumer>] = [:]
    @usableFromInline var namesGiven: Name = 0
    @usableFromInline var completion: Completion<Failure>?

    /// How many subscriptions there are.
    @inlinable var subscriberCount: Int { subscribers.count }

    /// Somebody subscribes.
    @inlinable mutating func subscribe() -> Name {
        namesGiven += 1
        subscribers[namesGiven] = Downstream()
        return namesGiven
    }

    /// A subscriber asks for elements that it will come for.
    @inlinable mutating func request(_ count: Int, by name: Name) -> [Action] {
        subscribers[name]?.request(count)
        return []
    }

    /// A subscriber comes for an element.
    @inlinable mutating func next(_ consumer: Consumer, of name: Name) -> [Action] {
        guard let index = subscribers.index(forKey: name) else { return [.end(consumer, nil)] }
        if let element = subscribers.values[index].next(consumer) { return [.give(element, to: consumer)] }
        guard let completion else { return [] }
        subscribers.remove(at: index)
        return [.end(consumer, completion.failure)]
    }

    /// Somebody sends an element. It goes to each subscriber that has asked for one, and is lost to the others.
    @inlinable mutating func send(_ element: Element) -> (actions: [Action], takerCount: Int) {
        guard completion == nil else { return ([], 0) }
        var actions: [Action] = []
        var takerCount = 0
        for index in subscribers.values.indices where subscribers.values[index].demand > 0 {
            takerCount += 1
            if let consumer = subscribers.values[index].deliver(element) {
                actions.append(.give(element, to: consumer))
            }
        }
        return (actions, takerCount)
    }

    /// Somebody ends the subject. The first end is the one that counts.
    @inlinable mutating func complete(_ completion: Completion<Failure>) -> [Action] {
        guard self.completion == nil else { return [] }
        self.completion = completion
        var actions: [Action] = []
        for name in Array(subscribers.keys) {
            guard let consumer = subscribers[name]?.takeConsumer() else { continue }
            subscribers[name] = nil
            actions.append(.end(consumer, completion.failure))
        }
        return actions
    }

    /// A subscriber was cancelled, or let its iterator go.
    @inlinable mutating func leave(_ name: Name) -> [Action] {
        guard var subscriber = subscribers.removeValue(forKey: name) else { return [] }
        return subscriber.takeConsumer().map { [.end($0, nil)] } ?? []
    }
}

extension PassthroughStateMachine.Action: Equatable
where Element: Equatable, Failure: Equatable, Consumer: Equatable {}
