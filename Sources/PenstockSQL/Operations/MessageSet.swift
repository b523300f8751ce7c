import PenstockCore

/// Messages about which a statement is run once, and not once for each: neighbours by the first and the last, those that stand
/// alone by a list.
struct MessageSet {
    enum Part {
        case range(ClosedRange<Int64>)
        case list(Value)
    }

    /// Fewer neighbours go with those that stand alone.
    private static let rangeCountMin = 16

    let parts: [Part]

    /// - Parameter sequences: in order, none of them twice.
    init(inOrder sequences: [Int64]) {
        var parts: [Part] = []
        var listed: [Int64] = []
        var first = sequences.startIndex
        for index in sequences.indices
        where index + 1 == sequences.endIndex || sequences[index + 1] != sequences[index] &+ 1 {
            let neighbours = sequences[first...index]
            first = index + 1
            if neighbours.count >= Self.rangeCountMin || neighbours.count == sequences.count {
                parts.append(.range(sequences[neighbours.startIndex]...sequences[index]))
            } else {
                listed += neighbours
            }
        }
        if !listed.isEmpty { parts.append(.list(.sequences(listed))) }
        self.parts = parts
    }
}

/// A statement about a set of messages: one text for neighbours, and one for a list.
struct MessageSetQuery {
    fileprivate let ofRange: Query
    fileprivate let ofList: Query

    /// - Parameter sql: the statement, whose own parameters begin at `?3`. It is given what a sequence number of the set fulfils.
    init(_ sql: (_ isOfSet: String) -> String) {
        ofRange = Query(sql("BETWEEN ?1 AND ?2"))
        // A server that takes a table to be small would go through the list once for each of its rows. By an array it goes to the index.
        ofList = Query(
            sql("IN (SELECT value FROM json_each(?1))"),
            server: sql("= ANY (CAST((SELECT CAST(translate(?1, '[]', '{}') AS BIGINT[])) AS BIGINT[]))"))
    }
}

extension Connection {
    /// Runs a statement that gives no rows about each part of a set.
    func run(_ query: MessageSetQuery, on set: MessageSet, _ values: Value...) throws {
        for part in set.parts {
            let statement = try statement(query, on: part, values)
            defer { statement.reset() }
            try statement.run()
        }
    }

    /// Every row of a statement about each part of a set, as `read` sees it.
    func all<T>(
        _ query: MessageSetQuery, on set: MessageSet, _ values: Value..., read: (PreparedStatement) throws -> T
    ) throws -> [T] {
        try set.parts.flatMap { part in try all(try statement(query, on: part, values), [], read: read) }
    }

    private func statement(
        _ query: MessageSetQuery, on part: MessageSet.Part, _ values: [Value]
    ) throws -> PreparedStatement {
        let statement: PreparedStatement
        switch part {
        case .range(let range):
            statement = try self.statement(query.ofRange)
            statement.bind(range.lowerBound, at: 1)
            statement.bind(range.upperBound, at: 2)
        case .list(let list):
            statement = try self.statement(query.ofList)
            statement.bind(list, at: 1)
        }
        for (index, value) in values.enumerated() { statement.bind(value, at: index + 3) }
        return statement
    }
}
