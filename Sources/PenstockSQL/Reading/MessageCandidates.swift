import PenstockCore

/// Goes through the messages that may answer a query, a run of them at a time: one statement tells of all of a run what
/// otherwise one would of each. A server's answer is a way there and back.
struct MessageCandidates {
    /// How many are looked at together at most.
    private static let runMax = 256
    /// The same where payloads are looked through, and a few may be more than one answer is to look at.
    private static let payloadRunMax = 8

    /// The ids of the queues that the query is about.
    let queues: Set<Int64>
    /// Whether the messages are in the queues and the states that the query asks for. Otherwise each is still to be asked.
    var areByState: Bool { walk.isByState }

    private let runMax: Int
    private let look: MessageLook?
    private var walk: SequenceWalk
    private var bounds: LookBounds
    /// What was read and not given yet, and what was seen of it.
    private var ahead: ArraySlice<Int64> = []
    private var sights: [Int64: MessageLook.Sight]?
    private var readCount = 0

    init(_ query: MessageQuery, _ connection: Connection) throws {
        let queues = try QueueReader.ids(query.queue, connection)
        self.queues = Set(queues)
        runMax = query.matching.payloadContains == nil ? Self.runMax : Self.payloadRunMax
        look = MessageLook(group: query.group, query.matching, connection)
        walk = try SequenceWalk(query, queues, connection)
        bounds = LookBounds(query)
    }

    /// Messages that come one after the other.
    struct Run {
        /// All of them, in their order.
        var sequences: [Int64] = []
        /// Those that have the group and what else the query looks for.
        var passing: [Int64] = []
    }

    /// The next ones; `nil` when there are none, when no more are wanted, or when as many were looked at as one answer may.
    mutating func next(atMost countMax: Int) throws -> Run? {
        guard countMax > 0, !bounds.areReached else { return nil }
        if ahead.isEmpty { try readOn(atLeast: countMax) }
        if ahead.isEmpty { return nil }
        var run = Run()
        while run.passing.count < countMax, !bounds.areReached, let sequence = ahead.popFirst() {
            let sight = sights?[sequence]
            bounds.count(payloadBytes: sight?.payloadBytes ?? 0)
            run.sequences.append(sequence)
            if sights == nil || sight?.passes == true { run.passing.append(sequence) }
        }
        return run
    }

    /// Where few pass, each run is twice as long as the one before.
    private mutating func readOn(atLeast countMin: Int) throws {
        readCount = min(look == nil ? countMin : max(countMin, readCount * 2), runMax)
        var read: [Int64] = []
        while read.count < readCount, let sequence = try walk.next() { read.append(sequence) }
        sights = read.isEmpty ? nil : try look?.look(at: read)
        ahead = read[...]
    }

    /// Whether more may answer the query than those that ``next(atMost:)`` has given.
    mutating func hasMore() throws -> Bool { try !ahead.isEmpty || walk.next() != nil }
}
