public import DequeModule

/// What a subscriber of a replay is told.
@usableFromInline package enum ReplayWord<Element, Failure: Error> {
    case give(Element)
    /// No more elements come, and why if it was a failure.
    case end(Failure?)
    /// It fell behind too far. The failure is made where no lock is held.
    case cut(@Sendable () -> Failure)
}

extension ReplayWord: Sendable where Element: Sendable {}

/// What a replay does, as a value: events go in, and `next()` gives what there is to do for them, one step after the
/// other, until it is `nil`. The rules of all replays, shared sequences and subjects, for `for await` as well as Combine.
///
/// - A listener is what a subscriber is spoken to by: a continuation, or a subscriber of Combine. It is with the core
///   while nobody speaks to it. A caller that is told to speak to it has it, and comes back with it.
/// - A subscriber is told of the end when it has heard everything, and is forgotten with that. An unknown name is one
///   whose subscription is over.
/// - Senders that found no room stand in line, and so does the end when it comes while a sender stands there: the order
///   is that of the calls.
/// - Nothing is let go in here: what is not needed any more goes to the caller, as letting it go may run its `deinit`.
@usableFromInline package struct ReplayCore<Element, Failure: Error, Listener, Sender> {
    /// Names one subscription, or one sending.
    @usableFromInline package typealias Name = Int
    @usableFromInline package typealias Subscriber = ReplaySubscriber<Element, Listener>
    @usableFromInline package typealias InLine = (name: Name, element: Element, sender: Sender)

    @usableFromInline package typealias Word = ReplayWord<Element, Failure>

    /// What there is to do.
    @usableFromInline package enum Step {
        case tell(Listener, Word, Name)
        /// Tell the sender that its element was sent.
        case admitted(Sender, letGo: Element?)
        /// A subscriber lost the element: tell the one that counts these.
        case drop(Element)
    }

    /// What came of sending.
    @usableFromInline package enum Sending {
        /// It went to so many subscribers. The element is one that is remembered no more.
        case sent(takerCount: Int, letGo: Element?)
        case noRoom
        /// The end came before it.
        case refused
    }

    @usableFromInline let memoryMax: Int
    @usableFromInline let limit: Int
    @usableFromInline let whenFull: ReplayBacklog<Failure>.WhenFull
    @usableFromInline var memory: Deque<Element> = []
    /// In the order of their coming, and so of their names.
    @usableFromInline var subscribers: [Subscriber] = []
    /// Those who hold senders up.
    @usableFromInline var fullCount = 0
    @usableFromInline var namesGiven: Name = 0
    /// Senders that wait for room with an element each, in the order of their coming.
    @usableFromInline var line: Deque<InLine> = []
    @usableFromInline var called: Deque<Name> = []
    @usableFromInline var dropped: Deque<Element> = []
    /// The end that stands in line behind the senders.
    @usableFromInline var completionInLine: Completion<Failure>?
    @usableFromInline var completion: Completion<Failure>?

    /// Makes a replay that nothing was sent by.
    @inlinable package init(bufferSize: Int, backlog: ReplayBacklog<Failure>) {
        precondition(bufferSize >= 0, "A replay cannot remember fewer than no elements.")
        memoryMax = bufferSize
        limit = max(backlog.limit, bufferSize)
        whenFull = backlog.whenFull
    }

    /// How many subscriptions there are.
    @inlinable package var subscriberCount: Int { subscribers.count }

    /// Whether the subscription lasts.
    @inlinable package func isSubscribed(_ name: Name) -> Bool { index(of: name) != nil }

    /// Whether this is the subscription that is left.
    @inlinable package func isOnlySubscriber(_ name: Name) -> Bool { subscribers.count == 1 && isSubscribed(name) }

    /// Whether it is over, or will be when the line is empty.
    @inlinable package var isEnded: Bool { completion != nil || completionInLine != nil }

    /// A subscriber comes, and is to get what is remembered first. Its listener is elsewhere until it comes.
    @inlinable package mutating func subscribe(asksInAdvance: Bool = false) -> Name {
        let name = newName()
        let subscriber = Subscriber(name: name, remembered: memory, asksInAdvance: asksInAdvance)
        if holdsUp(subscriber) { fullCount += 1 }
        subscribers.append(subscriber)
        return name
    }

    /// A name that nobody else has.
    @inlinable package mutating func newName() -> Name {
        namesGiven += 1
        return namesGiven
    }

    /// A subscriber asks for elements in advance.
    @inlinable package mutating func request(_ count: Int, by name: Name) {
        guard let index = index(of: name) else { return }
        change(index) { subscriber in
            subscriber.asksInAdvance = true
            subscriber.ask(count)
        }
        call(index)
    }

    /// A subscriber comes to hear what there is, and asks for so many elements more. If there is nothing to hear, its
    /// listener stays here. Without one it comes for an element alone.
    @inlinable package mutating func come(_ name: Name, _ listener: Listener?, asking count: Int = 0) -> Word? {
        guard let index = index(of: name) else { return .end(nil) }
        precondition(
            subscribers[index].listener == nil, "next() was called while another call of it was under way.")
        change(index) { subscriber in
            if count > 0 { subscriber.ask(count) }
            if !subscriber.asksInAdvance { subscriber.demand = 1 }
        }
        guard let listener else { return change(index) { $0.take() }.map { .give($0) } }
        if let word = word(index) { return word }
        subscribers[index].listener = listener
        return nil
    }

    /// A sender has an element, and sends it unless that would mean to stand in line.
    @inlinable package mutating func offer(_ element: Element) -> Sending {
        if isEnded { return .refused }
        if fullCount > 0 || !line.isEmpty { return .noRoom }
        return admit(element)
    }

    /// A sender sends an element, and stands in line with it when there is no room.
    ///
    /// - Parameter name: by which it may be withdrawn; 0, which names nobody, when it never is.
    @inlinable package mutating func send(_ element: Element, _ sender: Sender, as name: Name = 0) -> Sending {
        let sending = offer(element)
        if case .noRoom = sending { line.append((name, element, sender)) }
        return sending
    }

    /// A sender does not wish to stand in line any longer.
    @inlinable package mutating func withdraw(_ name: Name) -> InLine? {
        line.firstIndex { $0.name == name }.map { line.remove(at: $0) }
    }

    /// A sender, or upstream, ends the replay. The first end is the one that counts.
    @inlinable package mutating func complete(_ completion: Completion<Failure>) {
        if !isEnded { completionInLine = completion }
    }

    /// A subscription is over. Returns what it leaves.
    @inlinable package mutating func leave(_ name: Name) -> Subscriber? {
        guard let index = index(of: name) else { return nil }
        let subscriber = subscribers.remove(at: index)
        if holdsUp(subscriber) { fullCount -= 1 }
        return subscriber
    }

    /// Nobody wants any more what stands in line. Returns that.
    @inlinable package mutating func takeLine() -> [InLine] {
        defer { line = [] }
        return Array(line)
    }

    /// The next thing to do, if there is something. The caller does it, and asks again.
    @inlinable package mutating func next() -> Step? {
        if let element = dropped.popFirst() { return .drop(element) }
        while let name = called.popFirst() {
            // A subscriber that has left meanwhile is not told.
            guard let index = index(of: name), let listener = subscribers[index].listener.take() else { continue }
            subscribers[index].isCalled = false
            if let word = word(index) { return .tell(listener, word, name) }
        }
        if fullCount == 0, let (_, element, sender) = line.popFirst(), case .sent(_, let letGo) = admit(element) {
            return .admitted(sender, letGo: letGo)
        }
        guard line.isEmpty, let completion = completionInLine.take() else { return nil }
        self.completion = completion
        for index in subscribers.indices { call(index) }
        return next()
    }

    /// Remembers an element, and hands it to every subscriber.
    @inlinable mutating func admit(_ element: Element) -> Sending {
        var takerCount = 0
        for index in subscribers.indices where hand(element, to: index) { takerCount += 1 }
        if memoryMax == 0 { return .sent(takerCount: takerCount, letGo: element) }
        let letGo = memory.count == memoryMax ? memory.popFirst() : nil
        memory.append(element)
        return .sent(takerCount: takerCount, letGo: letGo)
    }

    /// Returns whether the subscriber is to get it.
    @inlinable mutating func hand(_ element: Element, to index: Int) -> Bool {
        if subscribers[index].isCut { return false }
        if subscribers[index].isFull(limit) {
            switch whenFull {
            case .lose: return false
            case .end:
                subscribers[index].isCut = true
                return false
            case .dropOldest: dropped.append(subscribers[index].elements.remove(at: subscribers[index].demand))
            // While a subscriber is full, nothing is admitted.
            case .suspendSender: break
            }
        }
        subscribers[index].elements.append(element)
        if holdsUp(subscribers[index]) { fullCount += 1 }
        call(index)
        return true
    }

    /// Puts a subscriber that listens in the line of those who are to be told, if there is something to tell it.
    @inlinable mutating func call(_ index: Int) {
        guard !subscribers[index].isCalled, subscribers[index].listener != nil,
            subscribers[index].elements.isEmpty
                ? subscribers[index].isCut || completion != nil : subscribers[index].demand > 0
        else { return }
        subscribers[index].isCalled = true
        called.append(subscribers[index].name)
    }

    /// What a subscriber is to be told next. With the last word it is forgotten.
    @inlinable mutating func word(_ index: Int) -> Word? {
        if let element = change(index, { $0.take() }) { return .give(element) }
        guard subscribers[index].elements.isEmpty else { return nil }
        let last: Word
        if subscribers[index].isCut, case .end(let failure) = whenFull {
            last = .cut(failure)
        } else if let completion {
            last = .end(completion.failure)
        } else {
            return nil
        }
        subscribers.remove(at: index)
        return last
    }

    /// Changes a subscriber, which may give it room.
    @inlinable mutating func change<Result>(_ index: Int, _ change: (inout Subscriber) -> Result) -> Result {
        let heldUp = holdsUp(subscribers[index])
        let result = change(&subscribers[index])
        if heldUp, !holdsUp(subscribers[index]) { fullCount -= 1 }
        return result
    }

    /// Whether senders wait for this one.
    @inlinable func holdsUp(_ subscriber: Subscriber) -> Bool {
        guard case .suspendSender = whenFull else { return false }
        return subscriber.isFull(limit)
    }

    /// Where the subscriber stands, if its subscription lasts.
    @inlinable func index(of name: Name) -> Int? {
        var low = 0
        var high = subscribers.count
        while low < high {
            let middle = (low + high) / 2
            if subscribers[middle].name < name { low = middle + 1 } else { high = middle }
        }
        return low < subscribers.count && subscribers[low].name == name ? low : nil
    }
}

extension ReplayCore: Sendable where Element: Sendable, Listener: Sendable, Sender: Sendable {}
extension ReplayCore.Step: Sendable where Element: Sendable, Listener: Sendable, Sender: Sendable {}
extension ReplayCore.Sending: Sendable where Element: Sendable {}
extension ReplayCore.Sending: Equatable where Element: Equatable {}
