import PenstockCore

/// Dead letters on their way into the queue that their own queue names for them.
///
/// Here a dead letter is a state of its own queue, and stays there until somebody receives from the dead-letter queue. Then it is
/// enqueued there, and discarded here. A crash between the two leaves both, and the next call discards the dead letter: the copy has
/// a key that keeps a second one out.
struct DeadLetters {
    static let countMax = 10
    private static let keyPeriod = Duration.seconds(14 * 24 * 3600)

    let store: any MessageStore
    let directory: QueueDirectory

    /// Brings some dead letters into `queue` whose dead-letter queue it is.
    ///
    /// - Returns: whether there were any.
    func bring(into queue: QueueName) async throws -> Bool {
        var found = false
        for source in try await directory.sources(of: queue) {
            if try await bring(from: source.name, into: queue) { found = true }
        }
        return found
    }

    private func bring(from source: QueueName, into queue: QueueName) async throws -> Bool {
        let hasGroups = try await directory.settings(of: queue).policy.hasGroupKeys
        let records = try await store.messages(
            MessageQuery(queue: source, states: [.dead], limit: Self.countMax, withPayload: true)
        ).records
        if records.isEmpty { return false }
        let copies = try records.map { record in
            var envelope = Envelope(record.headers)
            envelope.source = source.text
            return NewMessage(
                payload: record.payload ?? [], headers: try envelope.headers(), priority: record.priority,
                uniqueKey: UniqueKey("amazon-sqs dead \(record.sequence)", scope: .period(Self.keyPeriod)),
                group: hasGroups ? record.group : nil, origin: record.sequence)
        }
        guard try await store.enqueue(copies, to: queue, durability: .powerLoss).count == copies.count else {
            return false
        }
        for record in records {
            do { _ = try await store.apply(.discard, to: .sequences([record.sequence])) } catch let error
                as PenstockError
                where error.code == .illegalTransition || error.code == .unknownMessage
            {
                // Somebody has put it back in line meanwhile: it is worked there as well as here.
            }
        }
        directory.forget(source)
        return true
    }
}
