/// Sentences about a number of things, in which one thing is one.
enum CountedText {
    /// `template` with `count` for COUNT, and of each `{one|several}` the words that go with it.
    static func sentence(_ template: String, _ count: Int) -> String {
        template.replacing(/\{([^|}]*)\|([^}]*)\}/) { count == 1 ? $0.1 : $0.2 }.replacing("COUNT", with: "\(count)")
    }
}
