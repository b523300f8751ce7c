/// What an accepted message survives.
public enum Durability: String, Sendable, Codable, CaseIterable {
    /// A power cut: it was on the disk before `enqueue` returned.
    case powerLoss
    /// The death of every process, but not a power cut.
    case processCrash
}

/// What became of one message that was given to `enqueue`.
public struct Receipt: Hashable, Sendable {
    /// Its place in the log. For a skipped message, that of the one that has its key.
    public var sequence: SequenceNumber
    /// Its state when it was accepted: ready, scheduled or dropped. For a skipped message, that of the one that has its key; `nil`, if that
    /// one holds the key for a period and the log has forgotten it: whether it was done, died or was cancelled nobody knows any more.
    public var state: MessageState?
    /// What it survives.
    public var durability: Durability
    /// Whether nothing was enqueued, because another message has its unique key.
    public var skipped: Bool
    /// The message that was dropped or replaced to make place for this one.
    public var displaced: SequenceNumber?

    /// Makes a receipt.
    public init(
        sequence: SequenceNumber,
        state: MessageState?,
        durability: Durability,
        skipped: Bool = false,
        displaced: SequenceNumber? = nil
    ) {
        self.sequence = sequence
        self.state = state
        self.durability = durability
        self.skipped = skipped
        self.displaced = displaced
    }
}
