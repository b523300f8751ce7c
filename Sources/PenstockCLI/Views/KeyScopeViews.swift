import Penstock

extension KeyScope {
    /// What there is to say of it beside the key; `nil`: nothing.
    var text: String? {
        switch self {
        case .untilEnded: nil
        case .whileWaiting: "while it waits"
        case .period(let period): "for \(DurationText.format(period))"
        }
    }

    /// A key for people, with its scope where that is not the usual one.
    static func text(of key: String, _ scope: KeyScope?) -> String {
        Escape.text(key) + (scope?.text.map { ", \($0)" } ?? "")
    }
}

extension JSONValue {
    /// The kind of a key's scope.
    static func scope(_ scope: KeyScope) -> JSONValue {
        switch scope {
        case .untilEnded: .string("untilEnded")
        case .whileWaiting: .string("whileWaiting")
        case .period: .string("period")
        }
    }

    /// How long a key's scope is, if it is a period.
    static func period(_ scope: KeyScope) -> JSONValue {
        if case .period(let period) = scope { .seconds(period) } else { .null }
    }
}
