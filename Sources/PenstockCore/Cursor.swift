/// A named place in a queue's log, which outlives the process that reads on from it.
public struct CursorRecord: Hashable, Sendable {
    /// The queue whose log it is in.
    public var queue: QueueName
    /// Its name, which no other cursor of that queue has.
    public var name: CursorName
    /// Everything up to here is behind it. There need not be a message with that number.
    public var sequence: SequenceNumber
    /// How many messages it went past without anybody having had them: retention forgot them while they were still
    /// ahead of it, or the reader gave them up.
    public var missed: Int
    /// What was said when it was placed.
    public var note: String?
    /// When it was placed or moved last.
    public var movedAt: Timestamp

    /// Makes a record.
    public init(
        queue: QueueName, name: CursorName, sequence: SequenceNumber, missed: Int = 0, note: String? = nil,
        movedAt: Timestamp
    ) {
        self.queue = queue
        self.name = name
        self.sequence = sequence
        self.missed = missed
        self.note = note
        self.movedAt = movedAt
    }
}

extension CursorName {
    /// How the names of cursors begin whose notes are what an operator has said of their queue; nobody reads the log by them.
    package static let settingsPrefix = "amazon-sqs."

    /// The cursor whose place is the end of a log that has ended for good: nobody adds to it from then on.
    package static var completion: CursorName { CursorName(stored: "penstock.completion") }

    /// Whether the cursor's note is what an operator has said of the queue, so that only an operator may change it.
    package var isOfSettings: Bool { text.utf8.starts(with: Self.settingsPrefix.utf8) }
}

/// What to do with a cursor.
public enum CursorMove: Hashable, Sendable {
    /// Places it after that message, or after everything that is in the log now when it is `nil`. One that is there
    /// already stays as it is. Survives a power cut, and rings for the queue.
    case place(after: SequenceNumber?, note: String? = nil)
    /// Moves it forward to that message, and adds to what it missed. It never goes back: when it is there or further on
    /// already nothing changes, as what a reader gives up was settled by another one then. May be lost with power, but
    /// not with a process.
    case advance(to: SequenceNumber, missed: Int = 0)
    /// Removes it. One that is not there is no error.
    case remove
}
