public import DequeModule

/// What a replay does, as a value: events go in, and actions come out for the caller to perform in their order.
///
/// Subscribers are told of the end when they have taken everything and come again, and are forgotten with that. An
/// unknown name is one whose subscription is over. Senders that found no room stand in line, and so does the end when
/// it comes while somebody stands there: the order is that of the calls.
@usableFromInline
struct ReplayStateMachine<
    Element: Sendable, Failure: Error, Consumer: Sendable, Sender: Sendable
>: Sendable {
    /// Names one subscription, or one sending.
    @usableFromInline typealias Name = UInt64
    @usableFromInline typealias Subscriber = ReplaySubscriber<Element, Consumer>

    /// What the caller is to do.
    @usableFromInline enum Action: Sendable {
        /// Give the element to the consumer.
        case give(Element, to: Consumer)
        /// Tell the consumer that no more elements come, and why if it was a failure.
        case end(Consumer, Failure?)
        /// Tell the consumer that it fell behind too far.
        case cut(Consumer)
        /// Tell the sender that its element was sent.
        case accept(Sender)
        /// Tell the sender that its element was not sent.
        case refuse(Sender)
        /// A subscriber lost the element: tell the one that counts these.
        case drop(Element)
    }

    @usableFromInline let memoryMax: Int
    @usableFromInline let backlog: ReplayBacklog<Failure>
    @usableFromInline var memory: Deque<Element> = []
    @usableFromInline var subscribers: [Name: Subscriber] = [:]
    /// How many subscribers have no room.
    @usableFromInline var fullCount = 0
    @usableFromInline var namesGiven: Name = 0
    /// Senders that wait for room with an element each, in the order of their coming.
    @usableFromInline var line: Deque<(name: Name, element: Element, sender: Sender)> = []
    /// The end that stands in line behind these.
    @usableFromInline var completionInLine: Completion<Failure>?
    @usableFromInline var completion: Completion<Failure>?

    @inlinable init(remembering memoryMax: Int, backlog: ReplayBacklog<Failure>) {
        self.memoryMax = memoryMax
        self.backlog = backlog
    }

    /// How many subscriptions there are.
    @inlinable var subscriberCount: Int { subscribers.count }

    /// Whether the subscription lasts.
    @inlinable func isSubscribed(_ name: Name) -> Bool { subscribers[name] != nil }

    /// Somebody subscribes, and is to get what is remembered first.
    @inlinable mutating func subscribe() -> Name {
        let name = newName()
        let subscriber = Subscriber(limit: max(backlog.limit, memoryMax), remembered: memory)
        if subscriber.isFull { fullCount += 1 }
        subscribers[name] = subscriber
        return name
    }

    /// A name that nobody else has.
    @inlinable mutating func newName() -> Name {
        namesGiven += 1
        return namesGiven
    }

    /// A subscriber asks for elements that it will come for.
    @inlinable mutating func request(_ count: Int, by name: Name) -> [Action] {
        guard let index = subscribers.index(forKey: name) else { return [] }
        return taking(at: index) { $0.request(count) }
    }

    /// A subscriber comes for an element.
    @inlinable mutating func next(_ consumer: Consumer, of name: Name) -> [Action] {
        guard let index = subscribers.index(forKey: name) else { return [.end(consumer, nil)] }
        let actions = taking(at: index) { $0.next(consumer) }
        // By its name: an element that is taken may let the end through, which changes the table.
        guard subscribers[name]?.isWaiting == true else { return actions }
        return actions + end(name)
    }

    /// Somebody sends an element, and may stand in line for it.
    @inlinable mutating func send(_ element: Element, as name: Name, _ sender: Sender) -> [Action] {
        guard completion == nil, completionInLine == nil else { return [.refuse(sender)] }
        guard hasRoom else {
            line.append((name, element, sender))
            return []
        }
        return admit(element) + [.accept(sender)]
    }

    /// Somebody sends an element, unless that would mean to stand in line.
    @inlinable mutating func offer(_ element: Element) -> (actions: [Action], isSent: Bool) {
        guard completion == nil, completionInLine == nil, hasRoom else { return ([], false) }
        return (admit(element), true)
    }

    /// A sender does not wish to stand in line any longer.
    @inlinable mutating func withdraw(_ name: Name) -> [Action] {
        guard let index = line.firstIndex(where: { $0.name == name }) else { return [] }
        return [.refuse(line.remove(at: index).sender)] + moveLine()
    }

    /// Somebody ends the replay. The first end is the one that counts.
    @inlinable mutating func complete(_ completion: Completion<Failure>) -> [Action] {
        guard self.completion == nil, completionInLine == nil else { return [] }
        completionInLine = completion
        return moveLine()
    }

    /// A subscriber was cancelled, or let its iterator go. Returns also the consumer that waited for it.
    @inlinable mutating func leave(_ name: Name) -> (actions: [Action], waiting: Consumer?) {
        guard var subscriber = subscribers.removeValue(forKey: name) else { return ([], nil) }
        if subscriber.isFull { fullCount -= 1 }
        return (moveLine(), subscriber.takeConsumer())
    }

    @inlinable var hasRoom: Bool {
        guard case .suspendSender = backlog.whenFull else { return true }
        return fullCount == 0 && line.isEmpty
    }

    /// Lets a subscriber take, which may make room.
    @inlinable mutating func taking(
        at index: Dictionary<Name, Subscriber>.Index, _ take: (inout Subscriber) -> (Element, Consumer)?
    ) -> [Action] {
        let wasFull = subscribers.values[index].isFull
        var actions: [Action] = []
        if let (element, consumer) = take(&subscribers.values[index]) { actions.append(.give(element, to: consumer)) }
        guard wasFull, !subscribers.values[index].isFull else { return actions }
        fullCount -= 1
        return actions + moveLine()
    }

    @inlinable mutating func moveLine() -> [Action] {
        var actions: [Action] = []
        while fullCount == 0, let (_, element, sender) = line.popFirst() {
            actions += admit(element) + [.accept(sender)]
        }
        if line.isEmpty, let completion = completionInLine.take() {
            self.completion = completion
            for (name, subscriber) in subscribers where subscriber.isWaiting { actions += end(name) }
        }
        return actions
    }

    /// Remembers an element, and hands it to every subscriber.
    @inlinable mutating func admit(_ element: Element) -> [Action] {
        memory.append(element)
        if memory.count > memoryMax { memory.removeFirst() }
        var overflow = Subscriber.Overflow.dropOldest
        if case .end = backlog.whenFull { overflow = .cut }
        var actions: [Action] = []
        for index in subscribers.values.indices {
            let wasFull = subscribers.values[index].isFull
            switch subscribers.values[index].receive(element, whenFull: overflow) {
            case .kept: break
            case .given(let consumer): actions.append(.give(element, to: consumer))
            case .dropped(let oldest): actions.append(.drop(oldest))
            }
            let isFull = subscribers.values[index].isFull
            if wasFull != isFull { fullCount += isFull ? 1 : -1 }
        }
        return actions
    }

    /// Tells a subscriber that has taken everything of the end, if it has come.
    @inlinable mutating func end(_ name: Name) -> [Action] {
        guard let isCut = subscribers[name]?.isCut, isCut || completion != nil,
            let consumer = subscribers[name]?.takeConsumer()
        else { return [] }
        subscribers[name] = nil
        return [isCut ? .cut(consumer) : .end(consumer, completion?.failure)]
    }
}

extension ReplayStateMachine.Action: Equatable
where Element: Equatable, Failure: Equatable, Consumer: Equatable, Sender: Equatable {}
