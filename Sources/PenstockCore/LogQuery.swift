/// Where to read on in a queue's log.
public struct LogQuery: Hashable, Sendable {
    /// From where to read, in the order of sequence.
    public enum Start: Hashable, Sendable {
        /// What was accepted after this message.
        case after(SequenceNumber)
        /// The last so many messages, as they are at the moment of reading: 0 to ``Limits/rowsMax``.
        case last(Int)
        /// The last so many messages that were accepted before this one: 0 to ``Limits/rowsMax``. The page ends there.
        case preceding(SequenceNumber, Int)
    }

    /// The queue.
    public var queue: QueueName
    /// From where.
    public var start: Start
    /// How many messages at most, up to ``Limits/rowsMax``. A page is also shorter when its payloads and headers have more than
    /// ``Limits/logPageBytesMax`` bytes, but has at least one message if there is one.
    public var limit: Int
    /// A cursor of the queue to look for at the same moment.
    public var cursor: CursorName?

    /// Makes a query for one page.
    public init(queue: QueueName, _ start: Start, limit: Int = 1000, cursor: CursorName? = nil) {
        self.queue = queue
        self.start = start
        self.limit = limit
        self.cursor = cursor
    }
}

/// A message as it lies in the log, whatever has become of it.
public struct LogRecord: Hashable, Sendable {
    /// Its place in the log.
    public var sequence: SequenceNumber
    /// When it was accepted.
    public var enqueuedAt: Timestamp
    /// Names and values that travel with it.
    public var headers: [String: String]
    /// The payload.
    public var payload: [UInt8]

    /// Makes a record.
    public init(sequence: SequenceNumber, enqueuedAt: Timestamp, headers: [String: String], payload: [UInt8]) {
        self.sequence = sequence
        self.enqueuedAt = enqueuedAt
        self.headers = headers
        self.payload = payload
    }
}

/// A page of a queue's log, and how the log stood at that moment.
public struct LogPage: Hashable, Sendable {
    /// The messages, in the order of sequence.
    public var records: [LogRecord]
    /// How many messages the queue's log has from the page's first one on, this page included; of those that precede a message, up to
    /// that. `nil` when the page begins after a message and does not reach the end: then nobody has counted them.
    public var count: Int?
    /// Whether nothing follows the page: of those that precede a message, nothing before that.
    public var isAtEnd: Bool
    /// The last sequence number that the store has given, to whichever queue. A reader at the end of the log has read up
    /// to here.
    public var end: SequenceNumber
    /// How many messages the queue has ever accepted. A reader that counts what it reads learns from this how many
    /// were forgotten before it came to them.
    public var accepted: Int
    /// The cursor that the query names, when there is one.
    public var cursor: CursorRecord?

    /// Makes a page.
    public init(
        records: [LogRecord], count: Int?, isAtEnd: Bool, end: SequenceNumber, accepted: Int, cursor: CursorRecord?
    ) {
        self.records = records
        self.count = count
        self.isAtEnd = isAtEnd
        self.end = end
        self.accepted = accepted
        self.cursor = cursor
    }
}
