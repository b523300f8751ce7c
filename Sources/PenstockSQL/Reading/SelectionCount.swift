import PenstockCore

/// Counts the messages that match a selection, step by step.
struct SelectionCount: Sendable {
    /// How many were counted so far.
    private(set) var count = 0
    private(set) var isOver = false
    private var query: MessageQuery
    private let limit: Int

    /// - Throws: `invalidInput` for a selection that cannot be.
    init(_ selection: Selection, for command: LineCommand) throws {
        try selection.validate()
        query = MessageQuery(states: command.states, limit: Limits.rowsMax)
        switch selection {
        case .sequences(let sequences):
            query.sequences = sequences
            limit = .max
        case .queue(let queue, let states, let group, let filter, let limit, expected: _):
            query.queue = queue
            query.group = group
            query.matching = filter
            query.states = states.intersection(command.states)
            self.limit = limit ?? .max
        }
    }

    /// The same, a step further.
    func counted(in connection: Connection) throws -> SelectionCount {
        var counted = self
        let step = try MessageReader.sequences(query, connection)
        counted.count = min(count + step.found.count, limit)
        counted.query.after = step.last
        counted.isOver = step.last == nil || counted.count == limit
        return counted
    }
}
