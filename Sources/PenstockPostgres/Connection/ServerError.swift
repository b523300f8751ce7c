import PenstockSQL

/// What a PostgreSQL server, or the way to it, has refused.
struct ServerError: Error, CustomStringConvertible {
    /// The five letters by which the server says what it was; `nil`: there was no answer.
    ///
    /// Source: PostgreSQL's manual, appendix A, "PostgreSQL Error Codes".
    var state: String?
    /// What it was, for people.
    var message: String
    /// The statement, if it was one of the store's operations.
    var statement: String?
    /// Whether the connection is of no use any more.
    var isLost = false
    /// Whether it met a process that had the store open already, and connected once more.
    var isOfOpenStore = false

    /// The letters of a server that can only be read: a standby, or one with that setting.
    static let readOnlyTransaction = "25006"

    var description: String {
        message + (state.map { " (\($0))" } ?? "") + (statement.map { " in: \($0)" } ?? "")
    }

    /// Whether the same transaction, begun again, may go through: it stood in another one's way, or the server is going down, or was
    /// turned into a standby.
    var mayBeTriedAgain: Bool {
        switch state {
        case "40001", "40P01": true
        default: Self.endsSession(state)
        }
    }

    /// Whether another transaction holds what was asked for, or each of the two waits for the other.
    var isOfAnotherTransaction: Bool { ["55P03", "40P01", "40001"].contains(state) }

    /// Whether it was nothing that was asked for: the server is away, or another transaction in the way.
    var isInTheWay: Bool { isLost || mayBeTriedAgain || isOfAnotherTransaction }

    /// Whether the server ends the session with this error, or can do nothing with it any more: it shuts down, was promoted or
    /// turned into a standby, somebody ended the session, or what was prepared in it is gone.
    static func endsSession(_ state: String?) -> Bool {
        guard let state else { return false }
        return switch state {
        case readOnlyTransaction, "25P03", "0A000", "26000": true
        default: state.hasPrefix("08") || state.hasPrefix("57P")
        }
    }

    /// The class of the error: the first two letters.
    var errorClass: String? { state.map { String($0.prefix(2)) } }
}

extension ServerError: EngineError {
    /// Class 23: an integrity constraint is violated.
    public var isContradiction: Bool { errorClass == "23" }
}
