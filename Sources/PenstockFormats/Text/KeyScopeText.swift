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
