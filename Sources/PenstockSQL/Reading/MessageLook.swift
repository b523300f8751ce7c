import Foundation
import PenstockCore

/// Looks at messages for what no index tells of them: their group, and what a filter asks for.
struct MessageLook {
    private let connection: Connection
    private let group: String?
    private let filter: MessageFilter
    private let headers: String?

    /// A look for what `filter` and `group` ask for; `nil` when they ask for nothing that has to be looked for.
    init?(group: String?, _ filter: MessageFilter, _ connection: Connection) {
        if group == nil, filter.isEmpty { return nil }
        self.connection = connection
        self.group = group
        self.filter = filter
        headers = HeaderText.encode(filter.headers)
    }

    /// What was seen of a message.
    struct Sight {
        var passes: Bool
        var payloadBytes: Int
    }

    /// Looks at messages. Those that the log does not have are not among what was seen.
    func look(at sequences: [Int64]) throws -> [Int64: Sight] {
        let statement = try connection.statement(Self.look)
        defer { statement.reset() }
        statement.bind(Value.sequences(sequences), at: 1)
        statement.bind(Value(group), at: 2)
        statement.bind(Value(filter.uniqueKey), at: 3)
        statement.bind(Value(headers), at: 4)
        if let part = filter.payloadContains { statement.bind(Array(part.utf8), at: 5) }
        if let part = filter.errorContains { statement.bind(part, at: 6) }
        statement.bind(Int64(filter.signature == nil ? 0 : 1), at: 7)
        var seen: [Int64: Sight] = [:]
        seen.reserveCapacity(sequences.count)
        while try statement.step() {
            var sight = Sight(passes: statement.integer(2) != 0, payloadBytes: Int(statement.integer(1)))
            if sight.passes, let wanted = filter.signature {
                sight.passes = try LastError.signature(of: statement, reason: 3, error: 4) == wanted
            }
            seen[statement.integer(0)] = sight
        }
        return seen
    }

    // SQLite asks what stands first in each condition first, and reads no payload that it does not have to. By their bytes payloads
    // and errors are looked through, as an error may hold zero bytes. Of headers that are no JSON none is found.
    private static let look = Query(
        """
        SELECT log.sequence, length(log.payload),
            (CAST(?2 AS TEXT) IS NULL OR log.group_key IS ?2)
            AND (CAST(?3 AS TEXT) IS NULL OR log.unique_key IS ?3)
            AND (CAST(?4 AS TEXT) IS NULL OR CASE WHEN json_valid(log.headers) THEN NOT EXISTS (
                SELECT 1 FROM json_each(?4) AS wanted WHERE NOT EXISTS (
                    SELECT 1 FROM json_each(log.headers) AS header
                    WHERE header.key = wanted.key AND header.value = wanted.value AND header.type = 'text')) ELSE FALSE END)
            AND (CAST(?6 AS TEXT) IS NULL OR ifnull(instr(\(LastError.sql), CAST(CAST(?6 AS TEXT) AS BLOB)), 0) > 0)
            AND (CAST(?5 AS BLOB) IS NULL OR instr(log.payload, CAST(?5 AS BLOB)) > 0),
            CASE ?7 WHEN 1 THEN (SELECT reason FROM penstock_outcome AS outcome
                WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence) END,
            CASE ?7 WHEN 1 THEN \(LastError.sql) END
        FROM json_each(?1) AS listed CROSS JOIN penstock_log AS log ON log.sequence = listed.value
        """)
}

/// The error of a message's last attempt that did not end well.
enum LastError {
    /// It, of the message `log.sequence`, as bytes.
    static let sql = """
        (SELECT CAST(attempt.error AS BLOB) FROM penstock_attempt AS attempt WHERE attempt.sequence = log.sequence
            ORDER BY attempt.attempt DESC LIMIT 1)
        """

    /// How the message of a row failed, by its columns.
    static func signature(of row: PreparedStatement, reason: Int, error: Int) throws -> ErrorSignature {
        ErrorSignature(
            row.text(reason).flatMap(StateReason.init), String(decoding: try row.bytes(error), as: UTF8.self))
    }
}
