package import PenstockCore

/// Rates as people type them: `100/1s`.
package enum RateText {
    /// The rate that `text` names.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when it is none, or one that cannot be.
    package static func parse(_ text: String) throws(PenstockError) -> Rate {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0]) else {
            throw PenstockError(
                .invalidInput, "write a rate as a number and a time, such as 100/1s or 5/1m, or none.")
        }
        let rate = Rate(count, per: try DurationText.parse(String(parts[1])))
        try rate.validate()
        return rate
    }
}
