internal import PenstockCore

/// In which order a ``Worker`` of several queues serves them.
///
/// It decides which message begins next whenever a handler is free. While handlers are free, no queue that has messages waits for
/// another one, whatever the order.
public enum QueueOrder: Hashable, Sendable {
    /// The first queue that has messages is served first: a later one gets only the handlers that those before it leave free.
    case strict
    /// The queues take turns by weight, one weight of ``weightRange`` for each queue, in their order. With 3 and 1, of four
    /// messages that begin while both have some, three are of the first queue, and no queue waits for longer than that.
    ///
    /// Turns follow from the weights alone, never from chance. A queue that had nothing for a while has missed its turns: they
    /// are not made up for.
    case weighted([Int])

    /// What a weight may be.
    public static let weightRange = 1...1000

    /// Throws unless it is an order of so many queues.
    func validate(count: Int) throws(PenstockError) {
        guard case .weighted(let weights) = self else { return }
        guard weights.count == count else {
            throw PenstockError(
                .invalidInput, "A worker has one weight for each queue: \(count) queues, and \(weights.count) weights.")
        }
        for weight in weights where !Self.weightRange.contains(weight) {
            throw PenstockError(
                .invalidInput,
                "A queue's weight is \(Self.weightRange.lowerBound) to \(Self.weightRange.upperBound), not \(weight).")
        }
    }
}

/// Whose turn it is among the queues of a worker. It has no clock and no chance: the same messages come to the same order.
///
/// By weight this is start-time fair queueing (Goyal, Vin and Cheng, 1996): each queue has a time of its own, which goes on by
/// 1/weight with each of its messages, and the one that is furthest behind is next. Between two messages of a queue that has
/// some all the time, another one begins at most 1 + its weight / the queue's weight messages.
struct QueueTurns: Sendable {
    /// How far each queue's time goes on with a message of it; `nil` when the first queue is always the next.
    private let steps: [Int]?
    /// By how much each queue's time is ahead of that of the message that began last. One that falls behind is put level.
    private var lead: [Int]

    /// Divided by small weights nothing is left over, so that equal turns are equal.
    private static let unit = 720_720 << 10

    /// - Parameter order: a valid one of so many queues.
    init(_ order: QueueOrder, count: Int) {
        lead = Array(repeating: 0, count: count)
        steps =
            switch order {
            case .strict: nil
            case .weighted(let weights): weights.map { Self.unit / $0 }
            }
    }

    /// How many messages to claim from each queue, so that with all of them `room` places are taken: what each is given if it has as
    /// much.
    ///
    /// - Parameter hasMore: whether a queue may have messages.
    func shares(of room: Int, among hasMore: [Bool]) -> [Int] {
        var shares = Array(repeating: 0, count: hasMore.count)
        // The only one gets all that there is.
        if steps == nil || hasMore.count(where: \.self) == 1 {
            if let first = hasMore.firstIndex(of: true) { shares[first] = room }
            return shares
        }
        var turns = self
        for _ in 0..<room {
            guard let next = turns.next(among: { hasMore[$0] }) else { break }
            shares[next] += 1
        }
        return shares
    }

    /// Takes turns for messages that were claimed, so many of each queue.
    ///
    /// - Returns: in which order they begin, as the number of a queue for each.
    mutating func order(_ counts: [Int]) -> [Int] {
        if counts.count == 1 { return Array(repeating: 0, count: counts[0]) }
        var left = counts
        var order: [Int] = []
        while let next = next(among: { left[$0] > 0 }) {
            left[next] -= 1
            order.append(next)
        }
        return order
    }

    /// The queue whose turn it is, among those that have messages. Its turn is over then.
    private mutating func next(among hasMore: (Int) -> Bool) -> Int? {
        var next: Int?
        for index in lead.indices where hasMore(index) {
            guard let best = next else {
                next = index
                if steps == nil { return index }
                continue
            }
            if lead[index] < lead[best] { next = index }
        }
        guard let next, let steps else { return next }
        let now = lead[next]
        for index in lead.indices { lead[index] = max(lead[index] - now, 0) }
        lead[next] += steps[next]
        return next
    }
}
