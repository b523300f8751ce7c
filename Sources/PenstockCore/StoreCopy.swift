/// What is to be copied from one store into another, as a move: `PenstockStore.copy(to:_:progress:)`.
public struct StoreCopy: Sendable {
    /// The store that is left, as people are told of it: a path, or an address without a password. What a copy has brought that came to no end is
    /// known by it, and so the next one calls the store by the same name.
    public var source: String
    /// The store that gets its queues, as people are told of it.
    public var target: String
    /// Whether what has ended is copied as well. Otherwise dead letters are, tasks of workflows, and what a reader of a log has not
    /// come to.
    public var withLog: Bool
    /// How long workers of the source may go on with what they have. When it is zero, nothing is begun while they have any.
    public var wait: Duration

    /// Says what is to be copied.
    public init(source: String, target: String, withLog: Bool = false, wait: Duration = .zero) {
        self.source = source
        self.target = target
        self.withLog = withLog
        self.wait = wait
    }

    /// The command that opens a store again, for people.
    package static func cancellation(of source: String) -> String {
        let plain = source.utf8.allSatisfy { byte in
            byte >= 0x80 || byte.isLetterOrDigit || "/._-:@=,+%".utf8.contains(byte)
        }
        return "penstock copy --cancel --from " + (plain ? source : "'\(source.replacing("'", with: "'\\''"))'")
    }
}

/// How far a copy has come.
public struct CopyProgress: Hashable, Sendable {
    /// How many messages are in the target by now.
    public var messages: Int
    /// How many there are to copy.
    public var total: Int

    package init(messages: Int, total: Int) {
        self.messages = messages
        self.total = total
    }
}

/// What a copy has brought into its target. It was counted in both stores, and is the same in both.
public struct CopyReport: Hashable, Sendable {
    /// The copied messages of a queue.
    public struct Queue: Hashable, Sendable {
        /// Its name.
        public var name: QueueName
        /// How many messages are in each state that any is in.
        public var counts: [MessageState: Int]

        package init(name: QueueName, counts: [MessageState: Int]) {
            self.name = name
            self.counts = counts
        }

        /// How many messages it has.
        public var total: Int { counts.values.reduce(0, +) }
    }

    /// The queues, by name.
    public var queues: [Queue]
    /// By how much the sequence numbers are higher in the target; 0 when the target was new: then each message has its number.
    public var sequenceOffset: Int64
    /// How many rows stay behind that were set aside in the source, as they contradict the rest (the view `penstock_quarantined`).
    public var setAside: Int
    /// Whether an earlier call had finished it, and this one has only found it so.
    public var wasFinished: Bool

    package init(queues: [Queue], sequenceOffset: Int64, setAside: Int, wasFinished: Bool) {
        self.queues = queues
        self.sequenceOffset = sequenceOffset
        self.setAside = setAside
        self.wasFinished = wasFinished
    }

    /// How many messages all of them have.
    public var total: Int { queues.reduce(0) { $0 + $1.total } }
}
