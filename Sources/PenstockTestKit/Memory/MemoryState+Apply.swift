import PenstockCore

extension MemoryState {
    mutating func apply(
        _ command: LineCommand, to selection: Selection, at moment: Moment
    ) throws(PenstockError) -> Int {
        try selection.validate()
        let chosen: [SequenceNumber]
        switch selection {
        case .sequences(let sequences):
            chosen = Set(sequences).sorted()
            try refuseUnlessAllCan(command, chosen)
        case .queue(let name, let states, let limit):
            _ = command == .redrive ? try openQueue(name) : try queue(name)
            chosen = selected(for: command, from: name, states: states, limit: limit)
        }
        for sequence in chosen { move(sequence, by: command.event, at: moment) }
        return chosen.count
    }

    /// All of them or none: the first one that cannot be moved ends the call before anything has changed.
    private func refuseUnlessAllCan(
        _ command: LineCommand, _ sequences: [SequenceNumber]
    ) throws(PenstockError) {
        var keys = KeysTaken()
        for sequence in sequences {
            guard let message = messages[sequence] else {
                throw PenstockError(.unknownMessage, "There is no message \(sequence); retention may have let it go.")
            }
            guard command.states.contains(message.state) else {
                throw PenstockError(
                    .illegalTransition,
                    "Message \(sequence) is \(message.state); '\(command)' is for messages that are "
                        + "\(command.states.map(\.rawValue).sorted().joined(separator: " or ")).")
            }
            if command == .redrive { _ = try openQueue(message.queue) }
            guard keys.take(for: command, message, in: queues[message.queue]) else {
                throw PenstockError(
                    .illegalTransition,
                    "Message \(sequence) cannot be redriven while another one has its unique key; wait until that "
                        + "one has ended, or cancel it.")
            }
        }
    }

    private func selected(
        for command: LineCommand, from name: QueueName, states: Set<MessageState>, limit: Int?
    ) -> [SequenceNumber] {
        var keys = KeysTaken()
        var chosen: [SequenceNumber] = []
        for message in messages(of: name)
        where states.contains(message.state) && command.states.contains(message.state) {
            if chosen.count == limit { break }
            if keys.take(for: command, message, in: queues[name]) { chosen.append(message.sequence) }
        }
        return chosen
    }
}

/// The unique keys that dead letters get back when they are redriven together.
private struct KeysTaken {
    private var taken: [QueueName: Set<KeyBytes>] = [:]

    /// Whether `message` can have its key for what `command` does to it.
    mutating func take(for command: LineCommand, _ message: MemoryMessage, in queue: MemoryQueue?) -> Bool {
        guard command == .redrive, message.state == .dead, let key = message.new.uniqueKey.map({ KeyBytes($0.key) })
        else { return true }
        return queue?.line.keys[key] == nil && taken[message.queue, default: []].insert(key).inserted
    }
}
