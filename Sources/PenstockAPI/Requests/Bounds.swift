import PenstockCore

/// The bounds of requests that are the API's own; `Limits` has those of what is stored.
enum Bounds {
    /// Bytes of a body that is no payload, no result and no workflow.
    static let bodyBytesMax = 1024 * 1024
    /// How long a request may wait for messages, room or a result.
    static let waitRange = Duration.zero...Duration.seconds(60)
    /// Messages in one claim.
    static let claimRange = 1...1000
    /// Queues in one claim.
    static let claimQueueCountMax = 100
    /// Verdicts, or leases, in one request.
    static let leaseCountMax = 1000
    /// Bytes of a request with verdicts, which bring results and messages along.
    static let settlementBytesMax = 2 * Limits.payloadBytesMax
    /// Rows in one answer to a question.
    static let pageRange = 1...1000
    /// Lines in one request that enqueues many messages.
    static let batchLineCountMax = 100_000
    /// Bytes of one of them: a payload in base64, or a text of which every other byte is escaped.
    static let batchLineBytesMax = 2 * Limits.payloadBytesMax
    /// Messages that go in together of those.
    static let batchCountMax = 1000
    /// Bytes of payloads that go in together of those, but for the one that exceeds them.
    static let batchBytesMax = 1024 * 1024
    /// Messages named one by one in a command.
    static let sequenceCountMax = 1000
    /// How long a client is kept from trying again that has found a queue full.
    static let retryAfterSeconds = 1
}
