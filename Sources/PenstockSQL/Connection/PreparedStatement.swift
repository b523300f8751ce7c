/// A prepared statement of an engine: values are bound, rows are stepped through, and then it is reset.
///
/// Columns count from 0, bound values from 1, as in SQLite.
open class PreparedStatement {
    /// For engines, which have statements of their own.
    public init() {}

    open func bind(_ value: Int64, at index: Int) { Self.isEngines() }
    open func bind(_ value: Double, at index: Int) { Self.isEngines() }
    open func bind(_ text: String, at index: Int) { Self.isEngines() }
    open func bind(_ bytes: [UInt8], at index: Int) { Self.isEngines() }
    /// Binds `bytes` without a copy; they must outlive the next step.
    open func bind(uncopied bytes: UnsafeRawBufferPointer, at index: Int) { Self.isEngines() }

    /// Carries out a statement that gives no rows. An engine may let its failure be told by a later statement of the transaction.
    open func run() throws { _ = try step() }
    /// Asks for the rows with what else is asked for, of a statement that reads tables and no views. When it is run with the same
    /// values it gives them, if nothing was written meanwhile to a table that it reads; else it asks anew.
    open func prefetch() throws {}
    /// Goes to the next row; false at the end.
    open func step() throws -> Bool { Self.isEngines() }
    /// Makes the statement ready to be run again, with other values.
    open func reset() { Self.isEngines() }

    open func integer(_ column: Int) -> Int64 { Self.isEngines() }
    open func real(_ column: Int) -> Double { Self.isEngines() }
    open func text(_ column: Int) -> String? { Self.isEngines() }
    /// Whether a column has a text of these bytes. NULL has none.
    open func text(_ column: Int, isWrittenAs bytes: [UInt8]) -> Bool { Self.isEngines() }
    /// The bytes of a column; none when it is NULL.
    ///
    /// - Throws: when there is no memory to read them.
    open func bytes(_ column: Int) throws -> [UInt8] { Self.isEngines() }
    open func isNull(_ column: Int) -> Bool { Self.isEngines() }

    package final func bind(_ value: Value, at index: Int) {
        switch value {
        case .integer(let integer): bind(integer, at: index)
        case .real(let real): bind(real, at: index)
        case .text(let text): bind(text, at: index)
        // Nothing is bound to begin with, and that is NULL.
        case .null: break
        }
    }

    package final func optionalInteger(_ column: Int) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    private static func isEngines() -> Never { preconditionFailure("An engine has its own statements.") }
}

/// A value on its way into a statement.
public enum Value: Sendable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case null

    package init(_ value: Int64?) { self = value.map(Value.integer) ?? .null }
    package init(_ value: String?) { self = value.map(Value.text) ?? .null }
}

extension Value: ExpressibleByIntegerLiteral {
    /// The integer as a value.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension Value {
    /// The messages, or queues, that one statement is about: a JSON array of their numbers, which the statement reads by `json_each`.
    static func sequences(_ sequences: [Int64]) -> Value {
        var text = "["
        for sequence in sequences {
            if text.utf8.count > 1 { text += "," }
            text += String(sequence)
        }
        return .text(text + "]")
    }
}
