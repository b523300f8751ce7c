/// How many of something, for people.
package enum CountText {
    /// `1 task`, `2 tasks`.
    package static func format(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
