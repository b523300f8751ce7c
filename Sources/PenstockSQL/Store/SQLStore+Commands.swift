public import PenstockCore

/// Moving messages by hand.
extension SQLStore {
    /// Moves messages by hand, as ``MessageStore/apply(_:to:)`` says. Those of a queue are found by readings, which no writer waits
    /// for, and moved in steps. From the first message that is moved on the command is carried out though its task is cancelled.
    public func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try selection.validate()
        try command.validate()
        switch selection {
        case .sequences(let sequences):
            let moved = try await core.writer.perform(durability: .powerLoss, weight: sequences.count) {
                try Commanding.perform(command, on: sequences, in: $0)
            }
            try await finishCascade()
            return moved
        case .queue(let queue, let states, let group, let filter, let limit, let expected):
            if expected != nil { try selection.refuse(try await count(selection, for: command)) }
            let query = MessageQuery(
                queue: queue, group: group, matching: filter, states: states.intersection(command.states))
            let limit = min(limit ?? .max, expected ?? .max)
            var moved = 0
            do {
                try await apply(command, on: queue, in: states, query, limit: limit, &moved)
            } catch var error as PenstockError where moved > 0 {
                // A store that stalls would keep the caller for as long again; the next claim goes on with it.
                if !error.isOfStalledStore { try? await finishCascade() }
                error.tell(of: moved, "moved")
                throw error
            }
            try await finishCascade()
            return moved
        }
    }

    /// Moves up to `limit` messages of a queue, found by one reading after the other.
    ///
    /// - Parameter moved: counts those that were moved, also where this throws.
    private func apply(
        _ command: LineCommand, on queue: QueueName, in states: Set<MessageState>, _ query: MessageQuery, limit: Int,
        _ moved: inout Int
    ) async throws {
        var query = query
        // There is a first step also when nothing is found, which says what the queue refuses.
        repeat {
            if moved > 0 { try await core.afterStep?() }
            query.limit = max(1, min(limit - moved, Commanding.stepMax))
            let found = try await found(query, thoughCancelled: moved > 0)
            query.after = found.last
            if found.found.isEmpty, found.last != nil { continue }
            var left = found.found
            repeat {
                if left.count < found.found.count { try await core.afterStep?() }
                let (sequences, most) = (left, limit - moved)
                let step = try await core.writer.perform(durability: .powerLoss, weight: Commanding.stepMax) {
                    try Commanding.step(command, on: queue, in: states, sequences, limit: most, $0)
                }
                moved += step.moved
                left.removeFirst(step.passed)
            } while !left.isEmpty && moved < limit
        } while query.after != nil && moved < limit
    }

    /// The messages of the next step.
    ///
    /// - Parameter thoughCancelled: whether the step belongs to a command that has moved messages. Its caller would take a
    ///   `CancellationError` for the word that nothing has changed, so it is not cut short any more.
    private func found(_ query: MessageQuery, thoughCancelled: Bool) async throws -> (
        found: [Int64], last: SequenceNumber?
    ) {
        let read = { @Sendable [snapshots] in
            try await snapshots.read { connection in try MessageReader.sequences(query, connection) }
        }
        if thoughCancelled { return try await Task { try await read() }.value }
        try Task.checkCancellation()
        return try await read()
    }
}
