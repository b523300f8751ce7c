package import PenstockCore

extension StoreMove {
    package var json: JSONValue {
        .object([
            "phase": .string(phase.rawValue), "source": .string(source), "target": .string(target),
        ])
    }
}

extension JSONValue {
    /// An object with a member for the move of the store, where it moves; any other value as it is.
    package func adding(_ move: StoreMove?) -> JSONValue {
        move.map { adding(["move": $0.json]) } ?? self
    }
}
