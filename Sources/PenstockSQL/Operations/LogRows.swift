import PenstockCore

/// Writing messages into the log, and nowhere else.
enum LogRows {
    /// Writes `messages`, at least one, one after the other.
    ///
    /// - Parameter turns: in a queue that is shared fairly or was.
    /// - Returns: their sequence numbers, which have no gaps.
    static func write(
        _ messages: [NewMessage], _ account: QueueAccount, turns: [Int64]? = nil, in transaction: Transaction
    ) throws -> ClosedRange<Int64> {
        let first = try transaction.nextSequences(messages.count)
        // Most messages have none of the columns that only some have, and are spared them.
        let isPlain = turns == nil && messages.allSatisfy(\.isPlain)
        try InsertChunks.forEach(of: messages) { size, chunk in
            let statement = try transaction.connection.statement(isPlain ? insertPlain[size] : insertWhole[size])
            defer { statement.reset() }
            statement.bind(account.id, at: 1)
            statement.bind(transaction.now.microseconds, at: 2)
            statement.bind(first + Int64(chunk.startIndex), at: 3)
            let row = RowBinding(isPlain: isPlain, turns: turns, now: transaction.now)
            try step(statement, binding: chunk, row, at: 4)
        }
        return first...first + Int64(messages.count) - 1
    }

    /// What the rows of one call have in common.
    private struct RowBinding {
        var isPlain: Bool
        var turns: [Int64]?
        var now: Timestamp
    }

    /// Steps `statement` while all payloads, which are not copied, are where they are bound to be.
    private static func step(
        _ statement: PreparedStatement, binding messages: ArraySlice<NewMessage>, _ row: RowBinding, at index: Int
    ) throws {
        guard let message = messages.first else {
            try statement.run()
            return
        }
        statement.bind(Int64(message.priority), at: index)
        statement.bind(Value(message.attemptsMax.map(Int64.init)), at: index + 1)
        statement.bind(Value(message.uniqueKey?.key), at: index + 2)
        statement.bind(Value(HeaderText.encode(message.headers)), at: index + 3)
        statement.bind(Value(message.origin?.rawValue), at: index + 4)
        if !row.isPlain {
            statement.bind(Value(message.group), at: index + 6)
            statement.bind(Value(message.uniqueKey?.scope.stored), at: index + 7)
            statement.bind(Value(message.expiryTime(acceptedAt: row.now)?.microseconds), at: index + 8)
            statement.bind(row.turns?[messages.startIndex] ?? 0, at: index + 9)
        }
        try message.payload.withUnsafeBytes { bytes in
            statement.bind(uncopied: bytes, at: index + 5)
            let next = index + (row.isPlain ? plainColumns : wholeColumns).count
            try step(statement, binding: messages.dropFirst(), row, at: next)
        }
    }

    /// Columns of a row that are bound for it alone.
    private static let plainColumns = ["priority", "attempts_max", "unique_key", "headers", "origin", "payload"]
    private static let wholeColumns = plainColumns + ["group_key", "key_scope", "expires_at", "turn"]
    private static let insertPlain = InsertChunks.counts.map { insert($0, plainColumns) }
    private static let insertWhole = InsertChunks.counts.map { insert($0, wholeColumns) }

    private static func insert(_ count: Int, _ columns: [String]) -> Query {
        let rows = (0..<count).map { row in
            let values = columns.indices.map { "?\(4 + row * columns.count + $0)" }
            return "(?3 + \(row), ?1, ?2, \(values.joined(separator: ", ")))"
        }
        return Query(
            """
            INSERT INTO penstock_log (sequence, queue_id, enqueued_at, \(columns.joined(separator: ", ")))
            VALUES \(rows.joined(separator: ", "))
            """)
    }
}

extension NewMessage {
    /// Whether it has nothing that only some messages have.
    fileprivate var isPlain: Bool { group == nil && expiry == nil && uniqueKey?.scope.stored == nil }
}

extension KeyScope {
    /// As `penstock_log.key_scope` has it.
    var stored: Int64? {
        switch self {
        case .untilEnded: nil
        case .whileWaiting: 0
        case .period(let period): period.wholeMicroseconds
        }
    }

    /// The scope that is stored so. A period that nobody can have asked for counts as the longest one: else each message that has it would hold
    /// its key until a time that cannot be.
    init(stored: Int64?) {
        switch stored {
        case nil: self = .untilEnded
        case let period? where period > 0:
            self = .period(min(Duration.microseconds(period), Limits.keyPeriodRange.upperBound))
        default: self = .whileWaiting
        }
    }
}
