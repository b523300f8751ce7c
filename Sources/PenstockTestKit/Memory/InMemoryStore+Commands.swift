public import PenstockCore

/// What people do to messages by hand.
extension InMemoryStore {
    /// Moves messages by hand; see ``/PenstockCore/MessageStore``.
    public func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try database.act(as: id) { state, moment throws(PenstockError) in
            try state.apply(command, to: selection, at: moment)
        }
    }

    /// Counts the messages that match a selection; see ``/PenstockCore/MessageStore``.
    public func count(_ selection: Selection, for command: LineCommand) async throws -> Int {
        try database.act(as: id) { state, _ throws(PenstockError) in
            try state.count(selection, for: command)
        }
    }
}
