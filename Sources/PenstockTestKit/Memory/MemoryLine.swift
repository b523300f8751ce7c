import PenstockCore

/// Where the messages of one queue stand that have not ended. Each is in exactly one place.
struct MemoryLine: Sendable {
    /// A place among those that can be claimed: by priority, then by turn, and then by sequence.
    struct ReadyPlace: Comparable, Sendable {
        var priority: Int
        var turn: Int64
        var sequence: SequenceNumber

        init(_ message: MemoryMessage) {
            (priority, turn, sequence) = (message.new.priority, message.turn, message.sequence)
        }

        static func < (left: ReadyPlace, right: ReadyPlace) -> Bool {
            (right.priority, left.turn, left.sequence) < (left.priority, right.turn, right.sequence)
        }
    }

    /// A place among those that are to come: by due time, and then by sequence.
    struct DuePlace: Comparable, Sendable {
        var due: Timestamp
        var sequence: SequenceNumber

        static func < (left: DuePlace, right: DuePlace) -> Bool {
            (left.due, left.sequence) < (right.due, right.sequence)
        }
    }

    private(set) var ready = Ordered<ReadyPlace>()
    private(set) var scheduled = Ordered<DuePlace>()
    private(set) var leased = Ordered<SequenceNumber>()
    /// Those that wait for a permit of their group.
    private(set) var blocked = Ordered<SequenceNumber>()
    /// Which messages have a permit of their group.
    var permits: [KeyBytes: Set<SequenceNumber>] = [:]
    /// Those that wait and expire, by when they do.
    private(set) var expiring = Ordered<DuePlace>()
    /// Those that wait for other messages.
    private(set) var pending = Ordered<SequenceNumber>()
    /// Which message holds a unique key.
    var keys = MemoryKeys()

    /// What counts against the capacity.
    var waiting: Int { ready.elements.count + blocked.elements.count + scheduled.elements.count }

    /// How many messages have not ended.
    var openCount: Int { waiting + leased.elements.count + pending.elements.count }

    /// The message that `dropOldest` drops.
    var oldest: SequenceNumber? {
        (ready.elements.map(\.sequence) + blocked.elements.prefix(1)).min() ?? scheduled.elements.first?.sequence
    }

    /// Gives `message` the place that its state asks for.
    mutating func add(_ message: MemoryMessage) {
        switch message.state {
        case .ready: ready.insert(ReadyPlace(message))
        case .scheduled: scheduled.insert(DuePlace(due: message.due ?? message.enqueuedAt, sequence: message.sequence))
        case .blocked: blocked.insert(message.sequence)
        case .leased: leased.insert(message.sequence)
        case .pending: pending.insert(message.sequence)
        case .done, .dead, .dropped, .cancelled: return
        }
        if let place = expiryPlace(of: message) { expiring.insert(place) }
    }

    /// Takes the place of `message` away.
    mutating func remove(_ message: MemoryMessage) {
        switch message.state {
        case .ready: ready.remove(ReadyPlace(message))
        case .scheduled: scheduled.remove(DuePlace(due: message.due ?? message.enqueuedAt, sequence: message.sequence))
        case .blocked: blocked.remove(message.sequence)
        case .leased: leased.remove(message.sequence)
        case .pending: pending.remove(message.sequence)
        case .done, .dead, .dropped, .cancelled: return
        }
        if let place = expiryPlace(of: message) { expiring.remove(place) }
    }

    /// A worker that has a message goes on with it.
    private func expiryPlace(of message: MemoryMessage) -> DuePlace? {
        guard message.state != .leased, let expires = message.expires else { return nil }
        return DuePlace(due: expires, sequence: message.sequence)
    }
}

/// A key as stores compare it: Swift takes two ways to write an accent for one text.
struct KeyBytes: Hashable, Comparable, Sendable {
    private let bytes: [UInt8]

    init(_ key: String) {
        bytes = Array(key.utf8)
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    static func < (left: KeyBytes, right: KeyBytes) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}
