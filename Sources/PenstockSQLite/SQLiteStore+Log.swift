public import PenstockCore

/// The store as a keeper of logs: messages that are read and not worked, and the places of their readers.
extension SQLiteStore {
    /// Accepts messages that end as they are accepted, as ``MessageStore/append(_:to:unless:durability:)`` says, in one
    /// transaction with what else is asked for.
    public func append(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability
    ) async throws -> [Receipt] {
        try Task.checkCancellation()
        try NewMessage.validate(appended: messages, now: time.now)
        if messages.isEmpty { return [] }
        return try await writer.perform(durability: durability, weight: weight(of: messages)) { transaction in
            try Appending.perform(messages, to: queue, unless: cursor, durability: durability, in: transaction)
        }
    }

    /// Reads a page of a queue's log, as ``MessageStore/log(_:)`` says, in one snapshot that writers do not wait for.
    public func log(_ query: LogQuery) async throws -> LogPage {
        try query.validate()
        return try await read { database in try LogReader.page(query, Connection(database)) }
    }

    /// Places, moves or removes a cursor, as ``MessageStore/moveCursor(_:of:_:)`` says.
    @discardableResult
    public func moveCursor(
        _ cursor: CursorName, of queue: QueueName, _ move: CursorMove
    ) async throws -> CursorRecord? {
        try move.validate()
        var durability: Durability? = .powerLoss
        // Losing an advance means that somebody reads a few messages again.
        if case .advance = move { durability = nil }
        return try await writer.perform(durability: durability) { transaction in
            try Cursors.perform(move, cursor, of: queue, in: transaction)
        }
    }
}
