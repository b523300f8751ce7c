/// Messages that were found, in the order of sequence, and where to go on.
public struct MessagePage: Hashable, Sendable {
    /// The messages.
    public var records: [MessageRecord]
    /// The last message that was looked at; `nil`: every message that may answer the query was looked at.
    ///
    /// To go on, ask again with it as ``MessageQuery/after``, or with ``MessageQuery/End/last`` as ``MessageQuery/preceding``. A
    /// page may have no records and still say where to go on, when none of the messages that were looked at matches.
    public var next: SequenceNumber?

    /// Makes a page.
    public init(records: [MessageRecord] = [], next: SequenceNumber? = nil) {
        self.records = records
        self.next = next
    }
}

/// A page is the collection of its records.
extension MessagePage: RandomAccessCollection {
    /// The place of the first record.
    public var startIndex: Int { records.startIndex }

    /// The place behind the last record.
    public var endIndex: Int { records.endIndex }

    /// The record at that place.
    public subscript(position: Int) -> MessageRecord { records[position] }
}

/// The bound on what one answer carries in memory, as every store applies it.
package struct PageBytes {
    private var bytes = 0
    private var isEmpty = true

    package init() {}

    /// Counts a message of so many bytes in.
    ///
    /// - Returns: whether the page takes it. The first one is always taken.
    package mutating func admits(_ count: Int) -> Bool {
        guard isEmpty || bytes + count <= Limits.logPageBytesMax else { return false }
        isEmpty = false
        bytes += count
        return true
    }
}

extension MessageRecord {
    /// Bytes that a record brings along beside what every record has.
    package var carriedBytes: Int {
        attempts.reduce((payload?.count ?? 0) + headers.headerBytes) { $0 + $1.error.utf8.count }
    }
}

extension ClaimedMessage {
    /// Bytes that the message brings along beside what every message has.
    package var bytes: Int { payload.count + headers.headerBytes }
}

extension [String: String] {
    /// Bytes of the names and values of a message's headers.
    package var headerBytes: Int { reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } }
}

/// The bound on what one answer looks at, as every store applies it.
package struct LookBounds {
    private var left: Int
    private var bytesLeft: Int
    private let looksAtPayloads: Bool

    package init(_ query: MessageQuery) {
        left = query.lookMax
        bytesLeft = Limits.lookBytesMax
        looksAtPayloads = query.matching.payloadContains != nil
    }

    /// Counts a message whose payload has so many bytes as looked at.
    package mutating func count(payloadBytes: Int) {
        left -= 1
        if looksAtPayloads { bytesLeft -= payloadBytes }
    }

    /// Whether no more is looked at.
    package var areReached: Bool { left <= 0 || bytesLeft <= 0 }
}
