internal import PenstockCore
internal import PenstockStreams

/// What a buffer whose values are messages of a queue does, as a value: events go in, and actions come out for the
/// caller to perform.
///
/// The store decides what is kept and what is dropped. But it answers late, and a source is to be asked at once: so the
/// machine counts along (`waiting`), decides by that count what is asked of the source, and writes down what the store
/// is to do, in order, as operations. The store loop carries these out, one ``Step`` after another, and tells the answers, by
/// which the count is set right should others use the queue as well.
///
/// ```
/// idle --request--> opening --opened--> running --upstreamFinished--> finishing
///   any of these --failed, storageFailed--> failing      any of them --cancel--> cancelled
/// ```
/// A stream that is failing or cancelled ends when its operations are done; one that is finishing also waits until nothing
/// of the queue waits or is in the hands of whom it was given to.
struct DurableBufferStateMachine<Value: Sendable, Puller: Sendable>: Sendable {
    /// How it behaves.
    struct Rules: Sendable {
        /// How many values may wait.
        var size: Int
        var prefetch = BufferPrefetch.keepFull
        var whenFull: OverflowPolicy
        /// Whether every value waits for its due time: nothing goes straight through, and only the store knows what
        /// may be claimed.
        var givesLater = false
    }

    /// What the caller is to do at once.
    enum Action {
        /// Ask upstream for so many values more.
        case ask(Int)
        /// Let the puller come for a value.
        case goOn(Puller)
        /// Tell the puller that nobody wants more of it.
        case stop(Puller)
        case cancelUpstream
        /// These could not be stored before the end.
        case lost(Int)
        /// Wake the store loop.
        case wake
    }

    enum Phase {
        case idle, opening, running, finishing, failing, cancelled
    }

    let rules: Rules
    var phase = Phase.idle
    /// How many values downstream has asked for, and that nothing is on its way for. `Int.max`: any number.
    var demand = 0
    /// How many messages wait once all operations are done, also those that nobody gets now: put off, or of a queue that is paused.
    var waiting = 0
    /// How many values upstream was asked for and has not given.
    var owed = 0
    /// Whether the last value that arrived found the line full, and no place was left since.
    var isPaused = false
    /// Whether a value is on its way to the store for which it has no place, as far as is known: then the stream fails. Nothing is pulled
    /// after it before the store has answered.
    var mayOverflow = false
    /// Whether the store had places that were thought to be taken: others have emptied them.
    var hasFoundRoom = false
    /// Whether nothing can be claimed before something changes.
    var isKnownEmpty = false
    /// Whether a claim found less than was thought to wait: others have it, or it waits for its time. The store is asked which, as what
    /// others have taken has no place any more: a buffer that went on counting it would overflow with places free.
    var mustRecount = false
    /// How much the last count found, of which a claim had given nothing; `nil`: something has changed in the queue since. While no more
    /// and no less is left, as when something is put off for an hour, the store is not asked again for each value that passes.
    var knownOut: Int?
    /// Whether a value that found no room is to be offered once more.
    var offersAgain = false
    /// Whether the queue was found to be not at its end, and nothing has changed since.
    var isCounted = false
    /// Whether a count found nothing left.
    var isOver = false
    var operations: PendingOperations<Value>
    /// The source that would pull, while it waits.
    private var puller: Puller?
    /// The threads of a source that wait with a value each that they gave, until fewer are staged.
    private var stagers: [Puller] = []
    /// Why the stream failed.
    var failure: (any Error)?

    init(_ rules: Rules) {
        self.rules = rules
        operations = PendingOperations(size: rules.size, waits: rules.whenFull == .wait)
    }

    // MARK: What downstream does

    /// Downstream asks for so many values more.
    mutating func request(_ count: Int) -> [Action] {
        demand = demand.addingUpToMax(count)
        switch phase {
        case .idle:
            phase = .opening
            return [.wake]
        case .running, .finishing:
            assign()
            return askForMore() + [.wake]
        case .opening, .failing, .cancelled:
            return []
        }
    }

    /// Nobody wants more. What has arrived is still stored, as far as there is room.
    mutating func cancel() -> [Action] {
        guard phase != .cancelled else { return [] }
        phase = .cancelled
        operations.forgetClaims()
        return stopUpstream() + [giveUpWaiting(), .wake].compactMap(\.self)
    }

    // MARK: What upstream does

    /// The puller would come for a value.
    mutating func pullerAsks(_ puller: Puller) -> [Action] {
        switch phase {
        case .idle, .opening, .running:
            self.puller = puller
            return letPullerGoOn()
        case .finishing, .failing, .cancelled:
            return [.stop(puller)]
        }
    }

    /// A thread that gave a value waits while as many are staged as may be.
    mutating func stagerAsks(_ stager: Puller) -> [Action] {
        guard phase == .running, operations.isFull else { return [.goOn(stager)] }
        stagers.append(stager)
        return []
    }

    /// Upstream gave a value.
    mutating func arrived(_ value: Value, bytes: Int) -> [Action] {
        guard phase == .running else { return [] }
        if owed > 0, owed < .max { owed -= 1 }
        if demand > 0, !rules.givesLater, !isClogged {
            if demand < .max { demand -= 1 }
            operations.append(.pass(value, bytes: bytes))
        } else if waiting < rules.size {
            waiting += 1
            operations.append(.keep(value, bytes: bytes))
        } else {
            // Nothing was asked of a source that waits, but nothing may be lost: its value waits for room. For the others the store finds
            // it full as well, unless somebody else has taken some: it drops one on record, or has no place.
            if rules.whenFull == .wait { waiting += 1 } else { isPaused = true }
            mayOverflow = rules.whenFull == .fail
            operations.append(.keep(value, bytes: bytes))
        }
        return [.wake]
    }

    mutating func upstreamFinished() -> [Action] {
        guard phase == .running else { return [] }
        phase = .finishing
        return [.wake] + letStagersGoOn()
    }

    /// Upstream failed. What arrived before is stored, as far as there is room.
    mutating func failed(_ failure: any Error) -> [Action] {
        guard phase == .running || phase == .opening else { return [] }
        self.failure = failure
        phase = .failing
        return stopUpstream() + [giveUpWaiting(), .wake].compactMap(\.self)
    }

    // MARK: -

    /// Whether downstream may still be given something new.
    var isOpen: Bool { phase == .running || phase == .finishing }

    /// A stream that is at its end does not wait until others make room.
    mutating func giveUpWaiting() -> Action? {
        guard operations.isBlocked, !isOpen else { return nil }
        let count = operations.forgetAll()
        return count > 0 ? .lost(count) : nil
    }

    /// Whether what waits has all places, and a value that downstream asks for finds none on its way.
    var isClogged: Bool { waiting >= rules.size }

    /// Has what waits and is asked for claimed.
    mutating func assign() {
        if isOpen, !rules.givesLater, demand > 0, waiting > 0 {
            // Of what waits in the store nothing can be had; what is on its way there can.
            let out = isKnownEmpty ? operations.isBlocked ? waiting : operations.stored : 0
            let count = min(demand, max(0, waiting - out))
            if demand < .max { demand -= count }
            waiting -= count
            if count > 0 { operations.append(.claim(count)) }
        }
        if waiting < rules.size { isPaused = false }
    }

    /// Asks for what there is room for: with `keepFull` as many as would be asked for one by one until one overflows.
    mutating func askForMore() -> [Action] {
        guard phase == .running else { return [] }
        let free = max(0, rules.size - waiting)
        let passing = rules.givesLater || isClogged ? 0 : demand
        let room =
            switch (rules.whenFull, rules.prefetch) {
            case (.wait, _): passing.addingUpToMax(free)
            case (_, .byRequest): Int.max
            case (_, .keepFull): passing.addingUpToMax(free).addingUpToMax(isPaused ? 0 : 1)
            }
        guard room > owed else { return letPullerGoOn() }
        let ask = Action.ask(room == .max ? .max : room - owed)
        owed = room
        return [ask] + letPullerGoOn()
    }

    /// Whether a puller that comes goes on at once.
    var isWanted: Bool { owed > 0 && mayStage }

    private var mayStage: Bool { phase == .running && !operations.isFull && !mayOverflow }

    mutating func letPullerGoOn() -> [Action] {
        guard mayStage else { return [] }
        let goOns = letStagersGoOn()
        guard owed > 0, let puller = puller.take() else { return goOns }
        return goOns + [.goOn(puller)]
    }

    private mutating func letStagersGoOn() -> [Action] {
        defer { stagers = [] }
        return stagers.map { .goOn($0) }
    }

    mutating func stopUpstream() -> [Action] {
        defer { stagers = [] }
        return [.cancelUpstream] + ([puller.take()].compactMap(\.self) + stagers).map { .stop($0) }
    }
}
