import PenstockCore

/// Writing messages into the log, and nowhere else.
enum LogRows {
    /// How many messages one statement writes. Beginning and ending a statement costs as much as writing a row.
    private static let chunkCount = 16

    /// Writes `messages`, at least one, one after the other.
    ///
    /// - Returns: their sequence numbers, which have no gaps.
    static func write(
        _ messages: [NewMessage], _ account: QueueAccount, in transaction: Transaction
    ) throws -> ClosedRange<Int64> {
        let first = try transaction.nextSequences(messages.count)
        var rest = messages[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(rest.count < chunkCount ? 1 : chunkCount)
            let statement = try transaction.connection.statement(chunk.count == 1 ? insertOne : insertChunk)
            defer { statement.reset() }
            statement.bind(account.id, at: 1)
            statement.bind(transaction.now.microseconds, at: 2)
            statement.bind(first + Int64(chunk.startIndex), at: 3)
            try step(statement, binding: chunk, at: 4)
            rest = rest.dropFirst(chunk.count)
        }
        return first...first + Int64(messages.count) - 1
    }

    /// Steps `statement` while all payloads, which are not copied, are where they are bound to be.
    private static func step(
        _ statement: PreparedStatement, binding messages: ArraySlice<NewMessage>, at index: Int
    ) throws {
        guard let message = messages.first else {
            _ = try statement.step()
            return
        }
        statement.bind(Int64(message.priority), at: index)
        statement.bind(Value(message.attemptsMax.map(Int64.init)), at: index + 1)
        statement.bind(Value(message.uniqueKey?.key), at: index + 2)
        statement.bind(Value(message.group), at: index + 3)
        statement.bind(Value(HeaderText.encode(message.headers)), at: index + 4)
        statement.bind(Value(message.origin?.rawValue), at: index + 5)
        try message.payload.withUnsafeBytes { bytes in
            statement.bind(uncopied: bytes, at: index + 6)
            try step(statement, binding: messages.dropFirst(), at: index + columnCount)
        }
    }

    /// Columns of a row that are bound for it alone.
    private static let columnCount = 7
    private static let insertOne = insert(1)
    private static let insertChunk = insert(chunkCount)

    private static func insert(_ count: Int) -> Query {
        let rows = (0..<count).map { row in
            let values = (0..<columnCount).map { "?\(4 + row * columnCount + $0)" }
            return "(?3 + \(row), ?1, ?2, \(values.joined(separator: ", ")))"
        }
        return Query(
            """
            INSERT INTO penstock_log
                (sequence, queue_id, enqueued_at, priority, attempts_max, unique_key, group_key, headers, origin, payload)
            VALUES \(rows.joined(separator: ", "))
            """)
    }
}
