import Foundation
import PenstockCore

/// Accepting messages.
enum Enqueue {
    /// Carries out one call of ``MessageStore/enqueue(_:to:durability:)``.
    static func perform(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability, in transaction: Transaction
    ) throws -> [Receipt] {
        let account = try transaction.account(of: queue)
        if account.policy.capacity?.whenFull == .fail, messages.count > 1 {
            return try transaction.nested {
                try accept(messages, account, durability, in: transaction)
            }
        }
        return try accept(messages, account, durability, in: transaction)
    }

    private static func accept(
        _ messages: [NewMessage], _ account: QueueAccount, _ durability: Durability, in transaction: Transaction
    ) throws -> [Receipt] {
        var receipts: [Receipt] = []
        receipts.reserveCapacity(messages.count)
        for message in messages {
            guard let receipt = try accept(message, account, durability, in: transaction) else { break }
            receipts.append(receipt)
        }
        return receipts
    }

    /// Accepts one message.
    ///
    /// - Returns: its receipt, or `nil` when the queue is full and its policy is `wait`.
    private static func accept(
        _ message: NewMessage, _ account: QueueAccount, _ durability: Durability, in transaction: Transaction
    ) throws -> Receipt? {
        var replaced: LineEntry?
        if let key = message.uniqueKey, let holder = try UniqueKeys.holder(of: key.key, account, in: transaction),
            let existing = try Line.locate(holder, in: transaction)
        {
            guard key.onConflict == .replace, existing.state.isWaiting else {
                // The other one may have been enqueued without waiting for the disk; this receipt says that it did.
                if durability == .powerLoss { transaction.flush() }
                return Receipt(
                    sequence: SequenceNumber(holder), state: existing.state, durability: durability, skipped: true)
            }
            replaced = existing
        }
        var displaced = replaced
        if let replaced {
            // The arriving message takes its place, so nobody asks whether there is room.
            try move(replaced, by: .replaced, in: transaction)
        } else if try account.isFull(transaction.connection), let policy = account.policy.capacity {
            switch policy.whenFull {
            case .fail:
                throw PenstockError(
                    .queueFull,
                    "The queue '\(account.name)' is full: \(policy.count) messages wait; try again when some are worked."
                )
            case .wait:
                return nil
            case .dropNewest:
                return try dropArriving(message, account, durability, in: transaction)
            case .dropOldest:
                if let oldest = try Overflow.oldestWaiting(account, in: transaction) {
                    try move(oldest, by: .displaced, in: transaction)
                    displaced = oldest
                }
            }
        }
        let sequence = try writeLog(message, account, in: transaction)
        let due = message.dueTime(acceptedAt: transaction.now)
        if let key = message.uniqueKey { try UniqueKeys.hold(key.key, sequence, account, in: transaction) }
        try Line.put(
            sequence, account, priority: Int64(message.priority), due: due, keyed: message.uniqueKey != nil,
            in: transaction)
        account.change.enqueuedTotal += 1
        return Receipt(
            sequence: SequenceNumber(sequence), state: due == nil ? .ready : .scheduled, durability: durability,
            displaced: displaced.map { SequenceNumber($0.sequence) })
    }

    private static func dropArriving(
        _ message: NewMessage, _ account: QueueAccount, _ durability: Durability, in transaction: Transaction
    ) throws -> Receipt {
        let sequence = try writeLog(message, account, in: transaction)
        try Line.record(sequence, account, .dropped, .dropNewest, attempt: 0, in: transaction)
        account.change.enqueuedTotal += 1
        account.change.count(.dropped, 1)
        account.change.countEnd(.dropped)
        return Receipt(
            sequence: SequenceNumber(sequence), state: .dropped, durability: durability)
    }

    private static func move(_ entry: LineEntry, by event: Lifecycle.Event, in transaction: Transaction) throws {
        if let outcome = try Line.outcome(of: event, on: entry, in: transaction) {
            try Line.move(entry, to: outcome, in: transaction)
        }
    }

    /// Writes a message into the log, and nowhere else.
    ///
    /// - Returns: its sequence number.
    static func writeLog(
        _ message: NewMessage, _ account: QueueAccount, in transaction: Transaction
    ) throws -> Int64 {
        let sequence = transaction.nextSequence()
        let statement = try transaction.connection.statement(insertLog)
        defer { statement.reset() }
        statement.bind(sequence, at: 1)
        statement.bind(account.id, at: 2)
        statement.bind(transaction.now.microseconds, at: 3)
        statement.bind(Int64(message.priority), at: 4)
        statement.bind(Value(message.attemptsMax.map(Int64.init)), at: 5)
        statement.bind(Value(message.uniqueKey?.key), at: 6)
        statement.bind(Value(HeaderText.encode(message.headers)), at: 7)
        statement.bind(Value(message.origin?.rawValue), at: 8)
        try message.payload.withUnsafeBytes { bytes in
            statement.bind(uncopied: bytes, at: 9)
            _ = try statement.step()
        }
        return sequence
    }

    private static let insertLog = Query(
        """
        INSERT INTO penstock_log
            (sequence, queue_id, enqueued_at, priority, attempts_max, unique_key, headers, origin, payload)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        """)
}

/// Headers as the log stores them: a JSON object of strings.
enum HeaderText {
    /// `headers` as JSON with its keys in order, or `nil` when there are none.
    static func encode(_ headers: [String: String]) -> String? {
        if headers.isEmpty { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // A dictionary of strings can always be written as JSON.
        return (try? encoder.encode(headers)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The headers that `text` holds. What is not an object of strings counts as none: the file may be anybody's.
    static func decode(_ text: String?) -> [String: String] {
        guard let text else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))) ?? [:]
    }
}
