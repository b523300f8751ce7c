import PenstockCore

/// A value that is bound to a statement of the application's own.
///
/// Its type is the one that the statement asks for there, as of a text in quotes; bytes are BYTEA.
public enum PostgresValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    /// A text without zero bytes, which PostgreSQL has not; also the written form of any other type.
    case text(String)
    case bytes([UInt8])
}

extension PostgresValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral
{
    /// NULL.
    public init(nilLiteral: ()) { self = .null }
    /// The truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// The whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// The number.
    public init(floatLiteral value: Double) { self = .real(value) }
    /// The text.
    public init(stringLiteral value: String) { self = .text(value) }
}

/// A row of a query of the application's own.
public struct PostgresRow: Hashable, Sendable {
    /// The names of its columns, in their order.
    public let columns: [String]
    /// What each column has, in the server's written form; `nil`: NULL.
    public let texts: [String?]

    /// What a column has, as text; `nil`: NULL.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when there is no column of that name.
    public func text(_ column: String) throws -> String? {
        guard let index = columns.firstIndex(of: column) else {
            throw PenstockError(
                .invalidInput,
                "The row has no column '\(column)'; it has \(columns.map { "'\($0)'" }.joined(separator: ", ")).")
        }
        return texts[index]
    }

    /// The whole number that a column has; `nil`: NULL.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when there is no such column, or it has none.
    public func integer(_ column: String) throws -> Int64? { try value(column, "a whole number") { Int64($0) } }

    /// The number that a column has; `nil`: NULL.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when there is no such column, or it has none.
    public func real(_ column: String) throws -> Double? { try value(column, "a number") { Double($0) } }

    /// The truth value that a column has; `nil`: NULL.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when there is no such column, or it has none.
    public func bool(_ column: String) throws -> Bool? {
        try value(column, "a truth value") { ["t": true, "f": false][$0] }
    }

    /// The bytes that a column of the type BYTEA has; `nil`: NULL.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when there is no such column, or it has none.
    public func bytes(_ column: String) throws -> [UInt8]? {
        try value(column, "bytes") { text in
            guard text.hasPrefix("\\x"), text.utf8.count % 2 == 0 else { return nil }
            let digits = Array(text.utf8.dropFirst(2))
            let pairs = stride(from: 0, to: digits.count, by: 2).map { digits[$0...($0 + 1)] }
            let bytes = pairs.compactMap { UInt8(String(decoding: $0, as: UTF8.self), radix: 16) }
            return bytes.count == pairs.count ? bytes : nil
        }
    }

    private func value<Value>(_ column: String, _ what: String, _ read: (String) -> Value?) throws -> Value? {
        guard let text = try text(column) else { return nil }
        if let value = read(text) { return value }
        throw PenstockError(.invalidInput, "The column '\(column)' has no value that is \(what).")
    }
}

/// What the server has refused of a statement of the application's own.
public struct PostgresError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The five letters by which the server says what it was (SQLSTATE), such as `23505` for a row that is there already.
    public let state: String
    /// What it was, in the server's words.
    public let message: String

    /// Message and state.
    public var description: String { "\(message) (\(state))" }
}
