internal import PenstockCore

/// What the subscribers of one log in one process share, as a value: the log's tail, which of them wait for more of it, and
/// its end. Events go in, and actions come out for the caller to perform in their order.
///
/// Every subscriber has a place of its own in the log. One whose place is within the tail is served from it; one that
/// is behind is told to read the log, and comes back when it has.
struct LogHubStateMachine<Value: Sendable, Consumer: Sendable>: Sendable {
    /// Names one subscription.
    typealias Name = UInt64
    /// Names one run of the reading: what comes of another than the present one does not count.
    typealias Run = UInt64
    typealias Item = LogItem<Value>

    /// What the caller is to do.
    enum Action: Sendable {
        /// Stop reading: nobody is left.
        case stop
        case give(ArraySlice<Item>, to: Consumer)
        case sendBack(Consumer)
        /// Tell the consumer that no more comes, and why if it was a failure.
        case end(Consumer, (any Error)?)
    }

    private struct Waiting {
        var consumer: Consumer
        var after: SequenceNumber
    }

    /// How many values a subscriber is given at once.
    private let portionMax: Int
    private(set) var tail: LogTail<Value>?
    private let keepsTail: Bool
    /// A tail that is not needed any more, until ``takeSpent()``.
    private var oldTail: LogTail<Value>?
    private var subscribers: Set<Name> = []
    private var waiting: [Name: Waiting] = [:]
    /// Why a subscription ended, until its subscriber has been told.
    private var failures: [Name: any Error] = [:]
    /// The reading that goes on while there are subscribers; never one of a log that is nowhere but in memory.
    private(set) var running: Run?
    private var runsBegun: Run = 0
    private var completion: (failure: (any Error)?, Void)?
    private var namesGiven: Name = 0

    /// - Parameters:
    ///   - tail: the tail from the start on, of a log that is nowhere but in memory. It stays when nobody subscribes, and
    ///     nothing is ever started or stopped.
    ///   - portionMax: how many values a subscriber is given at once.
    init(tail: LogTail<Value>? = nil, portionMax: Int = 64) {
        self.tail = tail
        self.portionMax = portionMax
        keepsTail = tail != nil
    }

    /// How many subscriptions there are.
    var subscriberCount: Int { subscribers.count }

    /// A subscriber comes that has read the log up to `place`; `nil`: that is not known yet.
    ///
    /// - Returns: also the run that is to begin with it, which feeds the log and reads it.
    mutating func join(at place: LogPlace?) -> (name: Name, begun: Run?) {
        namesGiven += 1
        subscribers.insert(namesGiven)
        if tail == nil, let place { tail = LogTail(at: place) }
        guard running == nil, !keepsTail, completion == nil else { return (namesGiven, nil) }
        runsBegun += 1
        running = runsBegun
        return (namesGiven, runsBegun)
    }

    /// The log is read on from `place`, unless a subscriber has said from where.
    mutating func begin(at place: LogPlace, by run: Run) -> [Action] {
        guard run == running, tail == nil else { return [] }
        tail = LogTail(at: place)
        let behind = waiting.filter { $0.value.after < place.sequence }
        for name in behind.keys { waiting[name] = nil }
        return behind.values.map { .sendBack($0.consumer) }
    }

    /// A subscriber that has read up to `sequence` comes for more.
    mutating func next(_ consumer: Consumer, of name: Name, after sequence: SequenceNumber) -> [Action] {
        guard subscribers.contains(name) else { return [.end(consumer, failures.removeValue(forKey: name))] }
        if let tail {
            if sequence < tail.base.sequence { return [.sendBack(consumer)] }
            let items = tail.portion(after: sequence, limit: portionMax)
            if !items.isEmpty { return [.give(items, to: consumer)] }
        }
        if let completion {
            subscribers.remove(name)
            return [.end(consumer, completion.failure)]
        }
        precondition(waiting[name] == nil, "next() was called while another call of it was under way.")
        waiting[name] = Waiting(consumer: consumer, after: sequence)
        return []
    }

    /// The log was read on.
    mutating func extend(_ items: [Item], reach: LogPlace, by run: Run?) -> [Action] {
        guard run == running, tail != nil else { return [] }
        let before = tail?.reach.sequence
        tail?.extend(items, reach: reach)
        guard let tail, let first = items.first, !waiting.isEmpty else { return [] }
        // Most of them have everything up to here, and get the same.
        let portion = items.prefix(portionMax)
        let isWhole = tail.base.sequence < first.sequence
        var actions: [Action] = []
        actions.reserveCapacity(waiting.count)
        let waiters = waiting
        waiting = [:]
        for (name, waiter) in waiters {
            if waiter.after == before, isWhole {
                actions.append(.give(portion, to: waiter.consumer))
            } else if waiter.after < tail.base.sequence {
                actions.append(.sendBack(waiter.consumer))
            } else {
                let items = tail.portion(after: waiter.after, limit: portionMax)
                // One that has read further than the tail reached waits on.
                if items.isEmpty {
                    waiting[name] = waiter
                } else {
                    actions.append(.give(items, to: waiter.consumer))
                }
            }
        }
        return actions
    }

    /// Everything that there will be has been read. Newcomers are told so from now on, too.
    mutating func complete(_ failure: (any Error)?, by run: Run?) -> [Action] {
        guard run == running, completion == nil else { return [] }
        completion = (failure, ())
        running = nil
        defer {
            for name in waiting.keys { subscribers.remove(name) }
            waiting = [:]
        }
        return waiting.values.map { .end($0.consumer, failure) }
    }

    /// The log cannot be read or written. That ends every subscription; newcomers begin anew.
    mutating func fail(_ error: any Error, by run: Run) -> [Action] {
        guard run == running else { return [] }
        running = nil
        for name in subscribers where waiting[name] == nil { failures[name] = error }
        defer {
            subscribers = []
            waiting = [:]
            oldTail = tail.take()
        }
        return waiting.values.map { .end($0.consumer, error) }
    }

    /// A subscriber was cancelled, or let go. The last one stops the reading.
    mutating func leave(_ name: Name) -> [Action] {
        failures[name] = nil
        guard subscribers.remove(name) != nil else { return [] }
        var actions: [Action] = []
        if let waiter = waiting.removeValue(forKey: name) { actions.append(.end(waiter.consumer, nil)) }
        if subscribers.isEmpty, running != nil {
            running = nil
            oldTail = tail.take()
            actions.insert(.stop, at: 0)
        }
        return actions
    }

    /// Changes how much of a log in memory is kept.
    mutating func changeTail(_ change: (inout LogTail<Value>) -> Void) {
        if var changed = tail.take() {
            change(&changed)
            tail = changed
        }
    }

    /// What holds values that went, for the caller to let go of when no lock is held.
    mutating func takeSpent() -> (pages: LogTail<Value>.Spent?, tail: LogTail<Value>?) {
        (tail?.takeSpent(), oldTail.take())
    }
}
