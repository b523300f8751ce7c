package import PenstockCore

extension KeyScope {
    /// What there is to say of it beside the key; `nil`: nothing.
    package var text: String? {
        switch self {
        case .untilEnded: nil
        case .whileWaiting: "while it waits"
        case .period(let period): "for \(DurationText.format(period))"
        }
    }

    /// A key for people, with its scope where that is not the usual one.
    package static func text(of key: String, _ scope: KeyScope?) -> String {
        Escape.text(key) + (scope?.text.map { ", \($0)" } ?? "")
    }
}

/// What somebody types of a unique key beside the key.
package enum KeyScopeText {
    /// The scope that `text` names: `until-ended`, `while-waiting` or a period such as `10m`.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` that names the accepted forms.
    package static func parse(_ text: String) throws(PenstockError) -> KeyScope {
        switch text {
        case "until-ended", "untilEnded": return .untilEnded
        case "while-waiting", "whileWaiting": return .whileWaiting
        default:
            guard let period = try? DurationText.parse(text) else {
                throw PenstockError(
                    .invalidInput,
                    "'\(Escape.excerpt(text))' is no scope of a key; write until-ended, while-waiting, or a "
                        + "period such as 10m.")
            }
            return .period(period)
        }
    }

    /// What is to be done when the key is taken, as `text` says.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` that names what there is.
    package static func conflict(_ text: String) throws(PenstockError) -> KeyConflict {
        guard let conflict = KeyConflict(rawValue: text) else {
            throw PenstockError(
                .invalidInput,
                "'\(Escape.excerpt(text))' is nothing to do when a key is taken; write "
                    + "\(KeyConflict.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        return conflict
    }
}
