import PenstockCore

/// A place in a queue's line of ready messages: by priority, the highest first, then by turn, then by sequence number.
struct LinePlace: Comparable {
    var priority: Int64
    var turn: Int64
    var sequence: Int64

    /// Before all others.
    static let first = LinePlace(priority: .max, turn: 0, sequence: 0)

    static func < (one: LinePlace, other: LinePlace) -> Bool {
        if one.priority != other.priority { return one.priority > other.priority }
        return (one.turn, one.sequence) < (other.turn, other.sequence)
    }
}

/// What a transaction changes of the place before which no message of a queue is ready.
///
/// On a server a claim begins to look there. Versions of rows that are gone lie in the index until nobody may see them any more, and
/// a transaction that somebody has left open may see all that was there since it began.
struct LineStart: Equatable {
    /// The last message that was claimed: none before it is ready.
    private(set) var claimed: LinePlace?
    /// The first one that has become ready since.
    private(set) var entered: LinePlace?

    /// A claim has taken all that was ready up to this place.
    mutating func claimed(upTo place: LinePlace) { (claimed, entered) = (place, nil) }

    /// A message has become ready here.
    mutating func entered(at place: LinePlace) { entered = entered.map { min($0, place) } ?? place }

    /// Where the line begins that began at `before`.
    func resolved(after before: LinePlace) -> LinePlace {
        let start = claimed ?? before
        return entered.map { min($0, start) } ?? start
    }
}

/// How a row is written that each transaction writes, on a server. See the migration `old_snapshots`.
enum Versions {
    static let next = "updates = updates + 1, version = (updates + 1) / \(updatesOfOne)"

    /// So many updates leave the version as it is.
    static let updatesOfOne: Int64 = 64
}
