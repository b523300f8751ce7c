public import PenstockCore

/// Moving messages by hand.
extension SQLStore {
    /// Moves messages by hand, as ``MessageStore/apply(_:to:)`` says. Those of a queue are found by readings, which no writer waits
    /// for, and moved in steps.
    public func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try selection.validate()
        try command.validate()
        switch selection {
        case .sequences(let sequences):
            let moved = try await core.writer.perform(durability: .powerLoss, weight: sequences.count) { transaction in
                try Commanding.perform(command, on: sequences, in: transaction)
            }
            try await finishCascade()
            return moved
        case .queue(let queue, let states, let group, let filter, let limit, let expected):
            if expected != nil { try selection.refuse(try await count(selection, for: command)) }
            var query = MessageQuery(
                queue: queue, group: group, matching: filter, states: states.intersection(command.states))
            let limit = min(limit ?? .max, expected ?? .max)
            var moved = 0
            // There is a first step also when nothing is found, which says what the queue refuses.
            repeat {
                query.limit = max(1, min(limit - moved, Commanding.stepMax))
                let found = try await core.read { [query] connection in try MessageReader.sequences(query, connection) }
                query.after = found.last
                if found.found.isEmpty, found.last != nil { continue }
                let left = limit - moved
                moved += try await core.writer.perform(durability: .powerLoss, weight: Commanding.stepMax) {
                    transaction in
                    try Commanding.step(command, on: queue, in: states, found.found, limit: left, transaction)
                }
            } while query.after != nil && moved < limit
            try await finishCascade()
            return moved
        }
    }
}
