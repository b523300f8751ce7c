package import PenstockCore

extension StoreMove {
    /// What it means, as a line for people.
    package var line: String { Escape.line("\(statement).") }
}
