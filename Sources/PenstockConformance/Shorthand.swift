import PenstockCore
import Testing

/// What the cases say often, in few words. Everything is about the queue `jobs` unless said otherwise.
extension MessageStore {
    @discardableResult
    func put(_ messages: [NewMessage], to queue: QueueName = .jobs) async throws -> [Receipt] {
        try await enqueue(messages, to: queue, durability: .processCrash)
    }

    @discardableResult
    func put(
        _ message: NewMessage, to queue: QueueName = .jobs, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Receipt {
        let receipts = try await put([message], to: queue)
        return try #require(receipts.first, "The message was not accepted.", sourceLocation: sourceLocation)
    }

    @discardableResult
    func put(
        _ text: String, to queue: QueueName = .jobs, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> SequenceNumber {
        try await put(.text(text), to: queue, sourceLocation: sourceLocation).sequence
    }

    /// Puts a message in line that is blocked, as its group is paused. The queue has that policy, and groups.
    @discardableResult
    func putBlocked(_ text: String, _ policy: QueuePolicy) async throws -> SequenceNumber {
        var policy = policy
        policy.groups = .limit(1)
        try await configure(.jobs, .set(policy))
        try await configure(.jobs, .pauseGroup("paused"))
        return try await put(.text(text, group: "paused")).sequence
    }

    /// Claims up to `limit`.
    func take(
        _ limit: Int = 1, from queue: QueueName = .jobs, lease: Duration = .seconds(30)
    ) async throws -> [ClaimedMessage] {
        try await claim(ClaimRequest(queue: queue, limit: limit, lease: lease)).messages
    }

    /// Claims one that must be there.
    func takeOne(
        from queue: QueueName = .jobs, lease: Duration = .seconds(30),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ClaimedMessage {
        let messages = try await take(1, from: queue, lease: lease)
        return try #require(messages.first, "No message was ready.", sourceLocation: sourceLocation)
    }

    /// Puts a message in line, and claims the one that is first.
    func putAndTake(
        _ message: NewMessage, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ClaimedMessage {
        try await put(message, sourceLocation: sourceLocation)
        return try await takeOne(sourceLocation: sourceLocation)
    }

    func putAndTake(
        _ text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ClaimedMessage {
        try await putAndTake(.text(text), sourceLocation: sourceLocation)
    }

    /// The texts of all that are ready, claimed one after another.
    func drain(_ queue: QueueName = .jobs) async throws -> [String] {
        var texts: [String] = []
        while true {
            let messages = try await take(100, from: queue)
            if messages.isEmpty { return texts }
            texts += messages.map(\.text)
        }
    }

    func give(_ verdict: Verdict, for message: ClaimedMessage) async throws -> SettleResult {
        try await settle([Settlement(message.lease, verdict)]).first ?? .leaseLost
    }

    /// Gives a verdict and claims up to `limit`, in one call of the store.
    func give(
        _ verdict: Verdict, for message: ClaimedMessage, thenTake limit: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [ClaimedMessage] {
        let claim = StoreOperation.claim(ClaimRequest(queue: .jobs, limit: limit, lease: .seconds(30)))
        let performed = try await perform([.settle([Settlement(message.lease, verdict)]), claim])
        guard case .claimed(let claimed)? = performed.answers.last else {
            Issue.record("Nothing was claimed.", sourceLocation: sourceLocation)
            return []
        }
        return claimed.messages
    }

    /// Claims one that must be there, and gives a verdict.
    @discardableResult
    func work(
        _ verdict: Verdict, from queue: QueueName = .jobs, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> SequenceNumber {
        let message = try await takeOne(from: queue, sourceLocation: sourceLocation)
        let result = try await give(verdict, for: message)
        #expect(result != .leaseLost, sourceLocation: sourceLocation)
        return message.sequence
    }

    /// The message with everything the store knows of it.
    func record(
        _ sequence: SequenceNumber, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> MessageRecord {
        let found = try await messages(MessageQuery(sequences: [sequence], withPayload: true, withAttempts: true))
        return try #require(found.first, "Message \(sequence) is gone.", sourceLocation: sourceLocation)
    }

    /// The texts of the messages that a query finds.
    func texts(_ query: MessageQuery = MessageQuery()) async throws -> [String] {
        var query = query
        query.withPayload = true
        return try await messages(query).compactMap(\.text)
    }

    func state(
        of sequence: SequenceNumber, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> MessageState {
        try await record(sequence, sourceLocation: sourceLocation).state
    }

    func queueStatus(
        _ queue: QueueName = .jobs, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> QueueStatus {
        let status = try await status(of: queue)
        return try #require(status.queues.first, sourceLocation: sourceLocation)
    }

    func depths(_ queue: QueueName = .jobs) async throws -> Depths { try await queueStatus(queue).depths }

    func totals(_ queue: QueueName = .jobs) async throws -> Totals { try await queueStatus(queue).totals }
}

/// Expects `body` to throw a ``PenstockError`` of that code, with something to read in it.
func expect(
    _ code: PenstockError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Any
) async {
    do {
        let answer = try await body()
        Issue.record("Expected \(code.rawValue), got \(answer).", sourceLocation: sourceLocation)
    } catch let error as PenstockError {
        #expect(error.code == code, "\(error.message)", sourceLocation: sourceLocation)
        #expect(!error.message.isEmpty, sourceLocation: sourceLocation)
    } catch {
        Issue.record(error, "Expected \(code.rawValue).", sourceLocation: sourceLocation)
    }
}
