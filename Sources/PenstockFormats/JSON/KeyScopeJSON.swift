package import PenstockCore

extension JSONValue {
    /// The kind of a key's scope.
    package static func scope(_ scope: KeyScope) -> JSONValue {
        switch scope {
        case .untilEnded: .string("untilEnded")
        case .whileWaiting: .string("whileWaiting")
        case .period: .string("period")
        }
    }

    /// How long a key's scope is, if it is a period.
    package static func period(_ scope: KeyScope) -> JSONValue {
        if case .period(let period) = scope { .seconds(period) } else { .null }
    }
}
