package import PenstockCore

extension StoreMove {
    /// The move as JSON.
    package var json: JSONValue {
        .object([
            "phase": .string(phase.rawValue), "source": .string(source), "target": .string(target),
        ])
    }
}

extension JSONValue {
    /// An object with a member for the move of the store, where it moves; any other value as it is.
    package func adding(_ move: StoreMove?) -> JSONValue {
        guard let move, case .object(let members) = self else { return self }
        return .object(members + [Member(key: "move", value: move.json)])
    }
}
