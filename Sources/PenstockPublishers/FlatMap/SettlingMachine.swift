internal import Penstock
internal import PenstockStreams

/// What a bounded flatMap over deliveries does, as a value: events go in, and what is to be done comes out. How many
/// works there may be, and whose value is next, its `FlatMapCore` decides.
///
/// Each delivery has a publisher of its own, its work. That has ended when it says so and the subscriber was told the last
/// of its values, and not when that was put in line for it. Then the delivery is settled, and upstream is asked for another
/// when that is done: a process that dies between the two leaves no more handed out than may be worked on. A work that
/// fails does not fail the stream.
///
/// ```
/// open --upstream finished--> finished --no work, nothing to settle--> over
///   \---------upstream failed, storage failed, cancelled-----------------^
/// ```
struct SettlingMachine<Output> {
    /// Names one delivery and its work.
    typealias Name = UInt64

    /// What is to be said downstream.
    enum Step {
        /// Give the value of a work; ``said(_:)`` is called when the subscriber has taken it.
        case give(Output, Name)
        case end(Subscribers.Completion<any Error>)
    }

    /// What is to be done, after what is to be said.
    enum Action {
        case askUpstream(Int)
        case askWork(Name)
        case settle(Name, HandlerEnd)
        /// Cancel the work, and give its delivery back, unless that is lost.
        case giveUp(Name)
        case cancelUpstream
        case letGo([Output])
    }

    private struct Work {
        /// How many values it has given that the subscriber has not taken yet, whether these were asked for or not. It is
        /// asked for one at a time.
        var valuesWaiting = 0
        var end: HandlerEnd?
    }

    private var core: FlatMapCore<Output, Name>
    private var works: [Name: Work] = [:]
    private var settling: Set<Name> = []
    private var namesGiven: Name = 0

    /// - Parameter maxConcurrent: how many deliveries are worked on at a time.
    init(maxConcurrent: Int) {
        core = FlatMapCore(maxConcurrent: maxConcurrent)
    }

    mutating func askUpstream() -> [Action] {
        let count = core.takeAsk()
        return count > 0 ? [.askUpstream(count)] : []
    }

    /// Downstream asks for values.
    mutating func request(_ count: Int) -> [Step] {
        core.request(count)
        var steps: [Step] = []
        while let (value, name) = core.next() { steps.append(.give(value, name)) }
        return steps
    }

    /// The subscriber has taken a value of the work.
    mutating func said(_ name: Name) -> (steps: [Step], actions: [Action]) {
        guard let work = works[name] else { return ([], []) }
        works[name]?.valuesWaiting -= 1
        let actions = work.end == nil ? [.askWork(name)] : endIfDone(name)
        return (finishIfDone(), actions)
    }

    /// Upstream gave a delivery. Returns the name of its work; `nil` when nobody wants it any more.
    mutating func arrived() -> Name? {
        guard core.began() else { return nil }
        namesGiven += 1
        works[namesGiven] = Work()
        return namesGiven
    }

    /// A work gave a value. It is asked for another when the subscriber has taken this one.
    mutating func workGave(_ value: Output, _ name: Name) -> [Step] {
        guard works[name] != nil else { return [] }
        works[name]?.valuesWaiting += 1
        if core.mayGive() { return [.give(value, name)] }
        core.wait(value, of: name)
        return []
    }

    /// A work ended, or its lease has: then nobody settles it, also when the work had ended before and values of it wait.
    mutating func workEnded(_ end: HandlerEnd, _ name: Name) -> (steps: [Step], actions: [Action]) {
        guard let work = works[name], work.end == nil || end.isFromOutside else { return ([], []) }
        // What it gave before, and nobody has taken, comes out all the same, also when it failed: it was given.
        works[name]?.end = end
        let actions = endIfDone(name)
        return (finishIfDone(), end.isFromOutside ? [.giveUp(name)] + actions : actions)
    }

    mutating func settled(_ name: Name) -> (steps: [Step], actions: [Action]) {
        guard settling.remove(name) != nil else { return ([], []) }
        core.ended()
        return (finishIfDone(), askUpstream())
    }

    /// Upstream ended, or the store failed.
    mutating func ended(_ completion: Subscribers.Completion<any Error>) -> (steps: [Step], actions: [Action]) {
        guard !core.isOver else { return ([], []) }
        guard case .failure = completion else {
            core.upstreamFinished()
            return (finishIfDone(), [])
        }
        return ([.end(completion)], close())
    }

    /// Downstream wants no more.
    mutating func cancelled() -> [Action] {
        core.isOver ? [] : close()
    }

    private mutating func endIfDone(_ name: Name) -> [Action] {
        guard let work = works[name], let end = work.end, work.valuesWaiting == 0 else { return [] }
        works[name] = nil
        guard end.isFromOutside else {
            settling.insert(name)
            return [.settle(name, end)]
        }
        // Nothing is left to settle, or it is settled already.
        core.ended()
        return askUpstream()
    }

    private mutating func finishIfDone() -> [Step] {
        core.takeFinish() ? [.end(.finished)] : []
    }

    private mutating func close() -> [Action] {
        defer { works = [:] }
        return [.letGo(core.close().map(\.value)), .cancelUpstream] + works.keys.sorted().map { .giveUp($0) }
    }
}
