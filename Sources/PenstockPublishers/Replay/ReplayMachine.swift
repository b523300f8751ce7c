internal import DequeModule
internal import PenstockStreams

/// What a replay does, as a value: events go in, and what is to be done for them is left in ``ReplayMachine/Outcome``.
///
/// What was asked for and is still to be said lies in each subscriber's turns. It does not count as waiting. A sender
/// that finds no room stands in line, and so does the end when it comes while somebody stands there.
struct ReplayMachine<Output, Failure: Error, Listener, Sender> {
    /// Names one subscription.
    typealias Name = UInt64

    enum Step {
        case give(Output)
        case end(Subscribers.Completion<Failure>)
        /// The subscriber fell behind too far.
        case cut
    }

    /// What comes of an event.
    struct Outcome {
        /// Subscribers that were given something to hear, and that nobody tells yet.
        var toTell: [Name] = []
        /// Senders that stood in line, and whose values were sent.
        var admitted: [Sender] = []
        /// Values that a subscriber lost.
        var dropped: [Output] = []
    }

    private struct Subscriber {
        let listener: Listener
        var demand = 0
        /// What waits for demand, oldest first. While there is demand, it is empty.
        var waiting: Deque<Output>
        var isCut = false
        /// Whether the last thing to be said to it is on its way.
        var isEnding = false
        var turns = Turns<Step>()

        func isFull(_ limit: Int) -> Bool { demand == 0 && waiting.count >= limit && !isCut }

        /// What there is to be given now.
        mutating func takeGifts() -> [Step] {
            var gifts: [Step] = []
            while demand > 0, let value = waiting.popFirst() {
                if demand < .max { demand -= 1 }
                gifts.append(.give(value))
            }
            return gifts
        }
    }

    private let memoryMax: Int
    private let limit: Int
    private let whenFull: ReplayBacklog<Failure>.WhenFull
    private var memory: Deque<Output> = []
    private var subscribers: [Name: Subscriber] = [:]
    private var fullCount = 0
    private var namesGiven: Name = 0
    private var line: Deque<(value: Output, sender: Sender)> = []
    private var completionInLine: Subscribers.Completion<Failure>?
    private(set) var completion: Subscribers.Completion<Failure>?

    init(remembering memoryMax: Int, backlog: ReplayBacklog<Failure>) {
        self.memoryMax = memoryMax
        limit = max(backlog.limit, memoryMax)
        whenFull = backlog.whenFull
    }

    /// How many subscriptions there are.
    var subscriberCount: Int { subscribers.count }

    /// Whether the subscription lasts.
    func isSubscribed(_ name: Name) -> Bool { subscribers[name] != nil }

    /// Whether it is over, or will be when the line is empty.
    var isEnded: Bool { completion != nil || completionInLine != nil }

    /// Somebody subscribes, and is to get what is remembered first.
    mutating func subscribe(_ listener: Listener) -> Name {
        namesGiven += 1
        let subscriber = Subscriber(listener: listener, waiting: memory)
        if subscriber.isFull(limit) { fullCount += 1 }
        subscribers[namesGiven] = subscriber
        return namesGiven
    }

    /// A subscriber asks for values. With none it only hears of an end that has come.
    mutating func request(_ count: Int, by name: Name) -> Outcome {
        var outcome = Outcome()
        guard let index = subscribers.index(forKey: name) else { return outcome }
        let wasFull = subscribers.values[index].isFull(limit)
        subscribers.values[index].demand = subscribers.values[index].demand.addingUpToMax(count)
        let gifts = subscribers.values[index].takeGifts()
        if subscribers.values[index].turns.take(gifts) { outcome.toTell.append(name) }
        tellEnd(at: index, &outcome)
        if wasFull, !subscribers.values[index].isFull(limit) {
            fullCount -= 1
            moveLine(&outcome)
        }
        return outcome
    }

    /// Somebody sends a value, and stands in line when there is no room. Returns whether it was sent.
    mutating func send(_ value: Output, _ sender: Sender) -> (outcome: Outcome, isSent: Bool) {
        var outcome = Outcome()
        guard !isEnded else { return (outcome, true) }
        if case .suspendSender = whenFull, fullCount > 0 || !line.isEmpty {
            line.append((value, sender))
            return (outcome, false)
        }
        admit(value, &outcome)
        return (outcome, true)
    }

    /// Somebody ends the replay. The first end is the one that counts.
    mutating func complete(_ completion: Subscribers.Completion<Failure>) -> Outcome {
        var outcome = Outcome()
        guard !isEnded else { return outcome }
        completionInLine = completion
        moveLine(&outcome)
        return outcome
    }

    /// A subscriber was cancelled. Returns it, to be let go where no lock is held.
    mutating func leave(_ name: Name) -> (outcome: Outcome, listener: Listener?) {
        var outcome = Outcome()
        guard let subscriber = subscribers.removeValue(forKey: name) else { return (outcome, nil) }
        if subscriber.isFull(limit) { fullCount -= 1 }
        moveLine(&outcome)
        return (outcome, subscriber.listener)
    }

    /// Nobody wants any more what stands in line.
    mutating func forgetLine() {
        line = []
    }

    /// The next thing to say to a subscriber; `nil` ends the caller's turn.
    mutating func next(of name: Name) -> (step: Step, listener: Listener)? {
        guard let index = subscribers.index(forKey: name), let step = subscribers.values[index].turns.next()
        else { return nil }
        let listener = subscribers.values[index].listener
        if case .give = step { return (step, listener) }
        subscribers.remove(at: index)
        return (step, listener)
    }

    private mutating func moveLine(_ outcome: inout Outcome) {
        while fullCount == 0, let (value, sender) = line.popFirst() {
            admit(value, &outcome)
            outcome.admitted.append(sender)
        }
        guard line.isEmpty, let completion = completionInLine.take() else { return }
        self.completion = completion
        for index in subscribers.values.indices { tellEnd(at: index, &outcome) }
    }

    /// Remembers a value, and hands it to every subscriber.
    private mutating func admit(_ value: Output, _ outcome: inout Outcome) {
        memory.append(value)
        if memory.count > memoryMax { memory.removeFirst() }
        for index in subscribers.values.indices where !subscribers.values[index].isCut {
            let wasFull = subscribers.values[index].isFull(limit)
            if wasFull, case .end = whenFull {
                subscribers.values[index].isCut = true
            } else {
                if wasFull, let oldest = subscribers.values[index].waiting.popFirst() { outcome.dropped.append(oldest) }
                subscribers.values[index].waiting.append(value)
                let gifts = subscribers.values[index].takeGifts()
                if subscribers.values[index].turns.take(gifts) { outcome.toTell.append(subscribers.keys[index]) }
            }
            let isFull = subscribers.values[index].isFull(limit)
            if wasFull != isFull { fullCount += isFull ? 1 : -1 }
            tellEnd(at: index, &outcome)
        }
    }

    /// Lets a subscriber that has taken everything hear of the end, if it has come.
    private mutating func tellEnd(at index: Dictionary<Name, Subscriber>.Index, _ outcome: inout Outcome) {
        let isCut = subscribers.values[index].isCut
        guard let step = isCut ? .cut : completion.map({ Step.end($0) }),
            !subscribers.values[index].isEnding, subscribers.values[index].waiting.isEmpty
        else { return }
        subscribers.values[index].isEnding = true
        if subscribers.values[index].turns.take([step]) { outcome.toTell.append(subscribers.keys[index]) }
    }
}
