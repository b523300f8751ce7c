/// Which messages of the log to read, in what order, and how much of each.
public struct MessageQuery: Sendable {
    /// From which end of the log the answer is taken. It is given in the order of sequence either way.
    public enum End: Hashable, Sendable {
        /// The first ones after the cursor.
        case first
        /// The last ones.
        case last
    }

    /// Only this queue's; `nil`: every queue's.
    public var queue: QueueName?
    /// Only these.
    public var sequences: [SequenceNumber]?
    /// Only those of the group with that key, of whichever queue.
    public var group: String?
    /// Only those that have all of this.
    public var matching: MessageFilter
    /// Only messages in one of these states; `nil`: in any.
    public var states: Set<MessageState>?
    /// Only messages after this one: the cursor to page or follow with.
    public var after: SequenceNumber?
    /// Only messages that come before this one in the log: the cursor to page back with, from ``End/last``.
    public var preceding: SequenceNumber?
    /// Only messages accepted at this moment or later. Where a clock was set back, some from around that time may be left out.
    public var since: Timestamp?
    /// Only messages accepted before this moment. Where a clock was set back, some from around that time may be left out.
    public var before: Timestamp?
    /// Which end to take `limit` messages from.
    public var end: End
    /// How many at most, up to ``Limits/rowsMax``.
    ///
    /// An answer is also shorter when what it carries (headers; payloads and errors of attempts, as far as they are asked for) would
    /// have more than ``Limits/logPageBytesMax`` bytes, but it has at least one message if there is one. So a short answer
    /// does not say that there are no more: ``MessagePage/next`` does. With ``End/last`` it has those nearest the end.
    public var limit: Int
    /// How many messages are looked at at most, whether they match or not: 1 to ``Limits/lookCountMax``.
    ///
    /// Queue, state, unique key and time are found by indexes. For a group, a header and a text each message has to be looked at
    /// that an index has found. ``MessagePage/next`` says how far that has come.
    public var lookMax: Int
    /// Whether the records carry their payloads.
    public var withPayload: Bool
    /// Whether the records carry their failed attempts.
    public var withAttempts: Bool

    /// Makes a query: every message of every queue, from the start, a thousand at a time, without payloads.
    public init(
        queue: QueueName? = nil,
        sequences: [SequenceNumber]? = nil,
        group: String? = nil,
        matching: MessageFilter = MessageFilter(),
        states: Set<MessageState>? = nil,
        after: SequenceNumber? = nil,
        preceding: SequenceNumber? = nil,
        since: Timestamp? = nil,
        before: Timestamp? = nil,
        end: End = .first,
        limit: Int = 1000,
        lookMax: Int = Limits.lookCountMax,
        withPayload: Bool = false,
        withAttempts: Bool = false
    ) {
        self.queue = queue
        self.sequences = sequences
        self.group = group
        self.matching = matching
        self.states = states
        self.after = after
        self.preceding = preceding
        self.since = since
        self.before = before
        self.end = end
        self.limit = limit
        self.lookMax = lookMax
        self.withPayload = withPayload
        self.withAttempts = withAttempts
    }
}
