/// What a backup has.
public struct BackupReport: Hashable, Sendable, Codable {
    /// The backup's file.
    public var path: String
    /// The file that it is of.
    public var source: String
    /// The last sequence number that it knows of; 0 when no message was ever accepted.
    public var lastSequence: SequenceNumber
    /// How large the backup is.
    public var byteCount: Int

    /// Makes a report.
    package init(path: String, source: String, lastSequence: SequenceNumber, byteCount: Int) {
        self.path = path
        self.source = source
        self.lastSequence = lastSequence
        self.byteCount = byteCount
    }
}

/// What a store was made of, and how it goes on.
public struct RestoreReport: Hashable, Sendable, Codable {
    /// The store's file.
    public var path: String
    /// The backup's file.
    public var backup: String
    /// The number that the store's next message gets, or a later one: it is ahead of all that the backup knows of.
    public var nextSequence: SequenceNumber
    /// How many messages workers had in their hands when the backup was made. They are ready again.
    public var released: Int

    /// Makes a report.
    package init(path: String, backup: String, nextSequence: SequenceNumber, released: Int) {
        self.path = path
        self.backup = backup
        self.nextSequence = nextSequence
        self.released = released
    }
}
