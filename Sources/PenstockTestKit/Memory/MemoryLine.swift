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
    mutating func add(_ message: MemoryMessage) { set(message, isThere: true) }

    /// Takes the place of `message` away.
    mutating func remove(_ message: MemoryMessage) { set(message, isThere: false) }

    private mutating func set(_ message: MemoryMessage, isThere: Bool) {
        let sequence = message.sequence
        switch message.state {
        case .ready: ready.set(ReadyPlace(message), isThere)
        case .scheduled: scheduled.set(DuePlace(due: message.due ?? message.enqueuedAt, sequence: sequence), isThere)
        case .blocked: blocked.set(sequence, isThere)
        case .leased: leased.set(sequence, isThere)
        case .pending: pending.set(sequence, isThere)
        case .done, .dead, .dropped, .cancelled: return
        }
        // A worker that has a message goes on with it.
        guard message.state != .leased, let expires = message.expires else { return }
        expiring.set(DuePlace(due: expires, sequence: sequence), isThere)
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
