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

    var description: String {
        message + (state.map { " (\($0))" } ?? "") + (statement.map { " in: \($0)" } ?? "")
    }

    /// Whether the same transaction, begun again, may go through: it stood in another one's way, or the server is going down, or was
    /// turned into a standby.
    var mayBeTriedAgain: Bool {
        switch state {
        case "40001", "40P01", "25006": true
        default: errorClass == "57" && state != "57014" || errorClass == "08"
        }
    }

    /// The class of the error: the first two letters.
    var errorClass: String? { state.map { String($0.prefix(2)) } }
}

extension ServerError: EngineError {
    public var isContradiction: Bool { errorClass == "23" }
}
