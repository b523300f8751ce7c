internal import DequeModule
internal import PenstockStreams

/// What a buffer does, as a value: events go in; what is to be said downstream comes out, and what is to be asked of
/// upstream is a number to be fetched.
///
/// With `keepFull` upstream is asked for as many values as would be asked for one by one until one overflows: the
/// demand, the free places, and one more. So a subject that sends several at once is taken at its word, whatever
/// thread sends them, and the pause begins at the same value.
///
/// ```
/// open --finished, values wait--> finishing --last one taken--> over
///   \------finished, failed, overflowed with an error, cancelled---^
/// ```
struct BufferMachine<Output, Failure: Error> {
    enum Step {
        case give(Output)
        /// The value was discarded: tell the one that counts these.
        case drop(Output)
        /// The value was discarded, and for that the stream is to fail.
        case overflow(Output)
        case end(Subscribers.Completion<Failure>)
    }

    private enum Phase {
        case open, finishing, over
    }

    private let size: Int
    private let prefetch: Publishers.PrefetchStrategy
    private let whenFull: Publishers.BufferingStrategy<Failure>
    private var phase = Phase.open
    /// How many values downstream has asked for and not been given.
    private var demand = 0
    /// What waits for demand, oldest first. While there is demand, it is empty.
    private var waiting: Deque<Output> = []
    /// How many values upstream was asked for and has not given.
    private var owed = 0
    /// How many values upstream is still to be asked for.
    private var toAsk = 0

    init(
        size: Int, prefetch: Publishers.PrefetchStrategy, whenFull: Publishers.BufferingStrategy<Failure>
    ) {
        self.size = size
        self.prefetch = prefetch
        self.whenFull = whenFull
    }

    /// Downstream asks for values.
    mutating func request(_ count: Int) -> [Step] {
        guard phase != .over else { return [] }
        demand = demand.addingUpToMax(count)
        var steps: [Step] = []
        while demand > 0, let value = waiting.popFirst() {
            if demand < .max { demand -= 1 }
            steps.append(.give(value))
        }
        guard phase == .finishing else {
            askForMore()
            return steps
        }
        guard waiting.isEmpty else { return steps }
        phase = .over
        return steps + [.end(.finished)]
    }

    /// Upstream gave a value.
    mutating func arrived(_ value: Output) -> [Step] {
        guard phase == .open else { return [] }
        if owed > 0, owed < .max { owed -= 1 }
        if demand > 0 {
            if demand < .max { demand -= 1 }
            return [.give(value)]
        }
        guard waiting.count >= size else {
            waiting.append(value)
            return []
        }
        switch whenFull {
        case .dropNewest:
            return [.drop(value)]
        case .dropOldest:
            guard let oldest = waiting.popFirst() else { return [.drop(value)] }
            waiting.append(value)
            return [.drop(oldest)]
        case .customError:
            close()
            return [.overflow(value)]
        }
    }

    /// Upstream ended.
    mutating func ended(_ completion: Subscribers.Completion<Failure>) -> [Step] {
        guard phase == .open else { return [] }
        if case .finished = completion, !waiting.isEmpty {
            phase = .finishing
            toAsk = 0
            return []
        }
        close()
        return [.end(completion)]
    }

    /// Downstream wants no more.
    mutating func cancelled() {
        close()
    }

    /// How many values to ask upstream for now.
    mutating func takeAsk() -> Int {
        defer { toAsk = 0 }
        return toAsk
    }

    private mutating func askForMore() {
        let room =
            prefetch == .byRequest ? Int.max : demand.addingUpToMax(size - waiting.count).addingUpToMax(1)
        guard room > owed else { return }
        toAsk = toAsk.addingUpToMax(room - owed)
        owed = room
    }

    private mutating func close() {
        phase = .over
        waiting = []
        toAsk = 0
    }
}

extension BufferMachine.Step: Equatable where Output: Equatable, Failure: Equatable {}
