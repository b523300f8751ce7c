import PenstockCore

/// Goes through the messages that may answer a query, from the end that it asks for, one after the other. Of each source it reads
/// no more than about twice what is needed.
struct SequenceWalk {
    /// How many sequence numbers one statement reads at most.
    private static let chunkMax = 4096

    /// Whether the messages are in the queues and the states that the query asks for. Otherwise each is still to be asked.
    let isByState: Bool

    private let connection: Connection
    private let end: MessageQuery.End
    /// The sources that are left, once the walk has begun in such an order that the last one has the next message. A store of many
    /// queues has thousands, nearly all of them empty: no message may cost a look at each.
    private var streams: [Stream]
    private var hasBegun = false
    private var last: Int64?

    /// How many sources may have more messages.
    var sourceCount: Int { streams.count }

    /// - Parameter queues: the ids of the queues that the query is about.
    init(_ query: MessageQuery, _ queues: [Int64], _ connection: Connection) throws {
        self.connection = connection
        end = query.end
        isByState = query.sequences == nil && query.matching.uniqueKey == nil
        let whole = Stretch(after: query.after?.rawValue ?? 0, preceding: query.preceding?.rawValue)
        if let wanted = query.sequences {
            let inStretch = Set(wanted.map(\.rawValue)).filter { whole.contains($0) }
            let known = try connection.all(Self.findInLog, .sequences(Array(inStretch))) { $0.integer(0) }.sorted()
            streams = [Stream(ahead: end == .first ? known[...] : known.reversed()[...], stretch: whole)]
        } else {
            let chunk = min(min(query.limit, query.lookMax) + 1, Self.chunkMax)
            streams = try SequenceSource.all(of: query, queues, connection).map { source in
                let stretch = try source.narrowed(whole, to: query, connection)
                return Stream(stretch: stretch, source: source, chunk: chunk)
            }
        }
    }

    /// The next one; `nil` at the end.
    mutating func next() throws -> Int64? {
        while let sequence = try head() {
            // In a file that contradicts itself two tables may have the same message.
            if sequence == last { continue }
            last = sequence
            return sequence
        }
        return nil
    }

    private mutating func head() throws -> Int64? {
        if !hasBegun {
            try begin()
        } else if var stream = streams.popLast() {
            // The one that gave the message before this one: what it has next may come after what others have.
            if stream.ahead.isEmpty { try stream.readOn(end, connection) }
            if let first = stream.ahead.first { streams.insert(stream, at: place(of: first)) }
        }
        return streams.isEmpty ? nil : streams[streams.count - 1].ahead.popFirst()
    }

    private mutating func begin() throws {
        hasBegun = true
        for index in streams.indices where streams[index].ahead.isEmpty { try streams[index].readOn(end, connection) }
        streams = streams.filter { !$0.ahead.isEmpty }.sorted { [end] one, other in
            guard let first = one.ahead.first, let second = other.ahead.first else { return false }
            return Self.comes(second, before: first, from: end)
        }
    }

    /// Where a stream stands among the others that has `sequence` next.
    private func place(of sequence: Int64) -> Int {
        var low = 0
        var high = streams.count
        while low < high {
            let middle = (low + high) / 2
            if let other = streams[middle].ahead.first, Self.comes(sequence, before: other, from: end) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    private static func comes(_ one: Int64, before other: Int64, from end: MessageQuery.End) -> Bool {
        end == .first ? one < other : one > other
    }

    /// What was read of one source and is still to come.
    private struct Stream {
        var ahead: ArraySlice<Int64> = []
        /// What was not read yet.
        var stretch: Stretch
        /// `nil`: everything was read.
        var source: SequenceSource?
        var chunk = 0

        mutating func readOn(_ end: MessageQuery.End, _ connection: Connection) throws {
            guard let source else { return }
            let read = try source.sequences(stretch, end, limit: chunk, connection)
            ahead = read[...]
            if read.count < chunk { self.source = nil }
            if let last = read.last { stretch = stretch.rest(behind: last, end) }
            chunk = min(chunk * 2, SequenceWalk.chunkMax)
        }
    }

    private static let findInLog = Query(
        """
        SELECT log.sequence FROM json_each(?1) AS listed CROSS JOIN penstock_log AS log ON log.sequence = listed.value
        """)
}

/// The part of the log between two messages, without them.
struct Stretch {
    var after: Int64
    /// `nil`: it has no end.
    var preceding: Int64?

    func contains(_ sequence: Int64) -> Bool { sequence > after && sequence < preceding ?? .max }

    /// What is left of it behind a message, for a reading that begins at `end`.
    func rest(behind sequence: Int64, _ end: MessageQuery.End) -> Stretch {
        end == .first ? Stretch(after: sequence, preceding: preceding) : Stretch(after: after, preceding: sequence)
    }
}
