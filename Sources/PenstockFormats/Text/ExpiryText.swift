package import PenstockCore

/// Until when a message may start, as people type it: how long, or when.
package enum ExpiryText {
    /// The expiry that `text` names, with `now` as the present.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` that names the accepted forms.
    package static func parse(_ text: String, now: Timestamp) throws(PenstockError) -> Expiry {
        if let duration = try? DurationText.parse(text) { return .after(duration) }
        if text.hasPrefix("-") {
            throw PenstockError(
                .invalidInput,
                "a message expires after it was enqueued, and '\(Escape.excerpt(text))' is before; write how long, such as 10m."
            )
        }
        guard let moment = try? TimeText.parse(text, now: now) else {
            throw PenstockError(
                .invalidInput,
                "'\(Escape.excerpt(text))' is no duration and no time; write how long, such as 10m, or when, such as "
                    + "2030-01-31T08:30:00Z.")
        }
        return .at(moment)
    }
}
