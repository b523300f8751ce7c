internal import DequeModule
internal import Penstock
internal import PenstockStreams

/// What a bounded flatMap over deliveries does, as a value: events go in, and what is to be done comes out.
///
/// Each delivery has a publisher of its own, its work. That has ended when it says so and the last of its values was
/// taken; then the delivery is settled, and upstream is asked for another when that is done: a process that dies between
/// the two leaves no more handed out than may be worked on. A work that fails does not fail the stream.
///
/// ```
/// open --upstream finished--> finishing --no work, nothing to settle--> over
///   \---------upstream failed, storage failed, cancelled-----------------^
/// ```
struct SettlingMachine<Output> {
    /// Names one delivery and its work.
    typealias Name = UInt64

    /// What is to be said downstream.
    enum Step {
        case give(Output)
        case end(Subscribers.Completion<any Error>)
    }

    /// What is to be done, after what is to be said.
    enum Action {
        /// Ask upstream for another delivery.
        case askUpstream
        /// Ask the work for another value.
        case askWork(Name)
        /// Settle the delivery.
        case settle(Name, HandlerEnd)
        /// Cancel the work, and give its delivery back.
        case giveUp(Name)
        /// Cancel the work; its delivery is lost.
        case cancel(Name)
        case cancelUpstream
    }

    private enum Phase {
        case open, finishing, over
    }

    private struct Work {
        /// Whether it has given a value that nobody has taken yet; it gives one at a time.
        var valuesWaiting = 0
        var end: HandlerEnd?
    }

    private var phase = Phase.open
    private var demand = 0
    private var waiting: Deque<(value: Output, name: Name)> = []
    private var works: [Name: Work] = [:]
    private var settling: Set<Name> = []
    private var namesGiven: Name = 0

    /// How many works have not ended.
    var workCount: Int { works.count }

    /// Downstream asks for values.
    mutating func request(_ count: Int) -> (steps: [Step], actions: [Action]) {
        demand = demand.addingUpToMax(count)
        var steps: [Step] = []
        var actions: [Action] = []
        while demand > 0, let (value, name) = waiting.popFirst() {
            take()
            steps.append(.give(value))
            works[name]?.valuesWaiting -= 1
            actions += works[name]?.end == nil ? [.askWork(name)] : endIfDone(name)
        }
        return (steps + finishIfDone(), actions)
    }

    /// Upstream gave a delivery. Returns the name of its work; `nil` when nobody wants it any more.
    mutating func arrived() -> Name? {
        guard phase == .open else { return nil }
        namesGiven += 1
        works[namesGiven] = Work()
        return namesGiven
    }

    /// A work gave a value. Returns also whether it is to give another.
    mutating func workGave(_ value: Output, _ name: Name) -> (steps: [Step], givesMore: Bool) {
        guard phase != .over, works[name] != nil else { return ([], false) }
        guard demand > 0 else {
            waiting.append((value, name))
            works[name]?.valuesWaiting += 1
            return ([], false)
        }
        take()
        return ([.give(value)], true)
    }

    /// A work ended.
    mutating func workEnded(_ end: HandlerEnd, _ name: Name) -> [Action] {
        guard phase != .over, works[name] != nil, works[name]?.end == nil else { return [] }
        // What it gave before, and nobody has taken, comes out all the same, also when it failed: it was given.
        works[name]?.end = end
        let actions = endIfDone(name)
        if case .leaseLost = end { return [.cancel(name)] + actions }
        return actions
    }

    /// A delivery was settled.
    mutating func settled(_ name: Name) -> (steps: [Step], actions: [Action]) {
        guard settling.remove(name) != nil else { return ([], []) }
        return (finishIfDone(), phase == .open ? [.askUpstream] : [])
    }

    /// Upstream ended, or the store failed.
    mutating func ended(_ completion: Subscribers.Completion<any Error>) -> (steps: [Step], actions: [Action]) {
        guard phase != .over else { return ([], []) }
        guard case .failure = completion else {
            phase = .finishing
            return (finishIfDone(), [])
        }
        return ([.end(completion)], close())
    }

    /// Downstream wants no more.
    mutating func cancelled() -> [Action] {
        guard phase != .over else { return [] }
        return close()
    }

    private mutating func take() {
        if demand < .max { demand -= 1 }
    }

    private mutating func endIfDone(_ name: Name) -> [Action] {
        guard let work = works[name], let end = work.end, work.valuesWaiting == 0 else { return [] }
        works[name] = nil
        guard case .leaseLost = end else {
            settling.insert(name)
            return [.settle(name, end)]
        }
        // Nothing is left to settle.
        return phase == .open ? [.askUpstream] : []
    }

    private mutating func finishIfDone() -> [Step] {
        guard phase == .finishing, works.isEmpty, settling.isEmpty else { return [] }
        phase = .over
        return [.end(.finished)]
    }

    private mutating func close() -> [Action] {
        phase = .over
        waiting = []
        defer { works = [:] }
        return [.cancelUpstream] + works.keys.sorted().map { .giveUp($0) }
    }
}
