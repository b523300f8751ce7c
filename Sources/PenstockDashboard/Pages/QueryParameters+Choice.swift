import PenstockHTTP

extension QueryParameters {
    /// The parameter as one of some words.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Choice.Type
    ) throws(Problem) -> Choice? where Choice.RawValue == String {
        guard let text = text(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem.invalid("'\(name)' is one of \(words).")
        }
        return choice
    }
}
