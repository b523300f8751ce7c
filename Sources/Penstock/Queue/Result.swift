public import PenstockCore

/// What messages give, for those who wait for it.
extension Queue {
    /// Waits until a message of the queue has ended, wherever it is worked, and gives what it gave.
    ///
    /// ```swift
    /// let receipt = try await sums.enqueue(Numbers(3, 4))
    /// let sum = try await sums.result(of: receipt.sequence, as: Int.self, timeout: .seconds(10))
    /// ```
    ///
    /// The wait ends with a ring of the process that ends the message. It holds nothing: when the task is cancelled, or the process
    /// dies, the message goes on, and the result can be asked for again, as long as the queue's retention keeps the message.
    ///
    /// - Parameters:
    ///   - sequence: which message; a receipt says it.
    ///   - type: what its handler gave (``Delivery/done(result:)``, `penstock work --result`): JSON, or bytes as they are.
    ///   - timeout: how long to wait; `nil`: for ever.
    /// - Returns: what it gave; `nil` when it is done and gave nothing.
    /// - Throws: `PenstockError` with code `messageDead`, `messageCancelled` or `messageDropped` when it ended in another way;
    ///   `unknownMessage` when the queue has no such message, or retention has let it go; `timedOut`; `undecodable`; `storeMoved` when
    ///   the queues go to another store, where the message can be waited for.
    public func result<Value: Decodable>(
        of sequence: SequenceNumber, as type: Value.Type, timeout: Duration? = nil
    ) async throws -> Value? {
        let result = try await handle.result(of: sequence, in: name, timeout)
        return try result.map { try ResultCodec.decode($0, as: type, of: "message \(sequence)") }
    }
}

extension StoreHandle {
    /// Waits until message `sequence` of `queue` has ended.
    ///
    /// - Returns: what it gave, as bytes.
    /// - Throws: as ``Queue/result(of:as:timeout:)``.
    func result(of sequence: SequenceNumber, in queue: QueueName, _ timeout: Duration?) async throws -> [UInt8]? {
        let deadline = timeout.map { time.boot + $0 }
        let query = MessageQuery(queue: queue, sequences: [sequence], limit: 1, withAttempts: true)
        var isExpected = false
        var move = MoveWatch()
        do {
            while true {
                // The token comes before the look: a ring in between is not lost.
                let token = storage.changes.token(for: queue)
                guard let record = try await storage.messages(query).first else {
                    throw PenstockError(
                        .unknownMessage,
                        "The queue '\(queue)' has no message \(sequence); look at its number, or retention has let it go."
                    )
                }
                if record.state == .done { return try await storage.journal(of: sequence).result }
                if record.state.isFinished { throw Self.notDone(record) }
                // Where nobody works, nobody else notices that it has expired.
                let expiry = record.state == .leased ? nil : record.expiresAt
                let hasExpired = expiry.map { $0 <= time.now } ?? false
                if !isExpected || hasExpired {
                    let state = try await expectEnd(of: record)
                    let isFirst = !isExpected
                    isExpected = true
                    if isFirst || state.isFinished { continue }
                }
                guard try await move.mayWait(in: queue, storage) else { continue }
                let moment = hasExpired ? nil : expiry
                try await within(deadline, time) { try await self.waitForChange(of: queue, after: token, orAt: moment) }
            }
        } catch is DeadlinePassed {
            throw PenstockError(
                .timedOut,
                "Message \(sequence) has not ended within the timeout; it goes on, and can be waited for again.")
        }
    }

    /// Has the end of a message told. A store that may only look is told of nothing, and is looked at from time to time.
    private func expectEnd(of record: MessageRecord) async throws -> MessageState {
        do {
            return try await storage.expectEnd(of: record.sequence)
        } catch let error as PenstockError where error.code == .readOnly {
            return record.state
        }
    }

    private static func notDone(_ record: MessageRecord) -> PenstockError {
        let message = "Message \(record.sequence)"
        let expired =
            record.attempts.isEmpty
            ? "\(message) had not started by the time it expired, and"
            : "\(message) waited for its next attempt when it expired, and"
        switch record.state {
        case .dead where record.reason == .expired:
            return PenstockError(.messageDead, "\(expired) is a dead letter.")
        case .dropped where record.reason == .expired:
            return PenstockError(.messageDropped, "\(expired) was dropped.")
        case .dead:
            let error = record.attempts.last.map { ": \($0.error)" } ?? "."
            return PenstockError(.messageDead, "\(message) is a dead letter\(error)")
        case .dropped:
            return PenstockError(.messageDropped, "\(message) was dropped, as its queue was full.")
        default:
            return PenstockError(
                .messageCancelled, "\(message) was cancelled (\(record.reason?.rawValue ?? "requested")).")
        }
    }
}
