import PenstockCore

extension MemoryState {
    mutating func apply(
        _ command: LineCommand, to selection: Selection, at moment: Moment
    ) throws(PenstockError) -> Int {
        try selection.validate()
        try command.validate()
        let chosen: [SequenceNumber]
        switch selection {
        case .sequences(let sequences):
            chosen = Set(sequences).sorted()
            try refuseUnlessAllCan(command, chosen, at: moment.now)
        case .queue(let name, let states, let group, let filter, let limit, let expected):
            _ = command == .redrive ? try openQueue(name) : try queue(name)
            if expected != nil { try selection.refuse(try count(selection, for: command)) }
            chosen = selected(
                for: command, from: name, limit: min(limit ?? .max, expected ?? .max), at: moment.now
            ) { states.contains($0.state) && $0.passes(group: group, filter) }
        }
        return chosen.count { carryOut(command, on: $0, at: moment) }
    }

    /// - Returns: whether that moved the message, or asked its worker to end, which had not been asked before.
    private mutating func carryOut(_ command: LineCommand, on sequence: SequenceNumber, at moment: Moment) -> Bool {
        if let time = command.time, messages[sequence]?.state == .leased {
            return requestCancel(of: sequence, within: time, at: moment)
        }
        // The worker learns at once that it has lost the message.
        if let message = messages[sequence], message.state == .leased { notify(message.queue) }
        // The end of one before it may have cancelled a task.
        move(sequence, by: command.event, at: moment)
        return true
    }

    /// Asks the worker of a message to end.
    ///
    /// - Returns: whether it was not asked before.
    mutating func requestCancel(of sequence: SequenceNumber, within time: Duration, at moment: Moment) -> Bool {
        guard let message = messages[sequence], var hold = message.hold else { return false }
        let isNew = hold.request == nil
        let until = moment.boot + time
        hold.request = (hold.request?.madeAt ?? moment.now, hold.bounded(until))
        hold.ends = hold.bounded(hold.ends)
        messages[sequence]?.hold = hold
        notify(message.queue)
        return isNew
    }

    /// All of them or none: the first one that cannot be moved ends the call before anything has changed.
    private func refuseUnlessAllCan(
        _ command: LineCommand, _ sequences: [SequenceNumber], at now: Timestamp
    ) throws(PenstockError) {
        var keys = KeysTaken()
        for sequence in sequences {
            let message = try message(sequence)
            guard command.states.contains(message.state) else {
                throw PenstockError(
                    .illegalTransition,
                    "Message \(sequence) is \(message.state); '\(command)' is for messages that are "
                        + "\(command.states.map(\.rawValue).sorted().joined(separator: " or ")).")
            }
            if command == .redrive { _ = try openQueue(message.queue) }
            guard keys.take(for: command, message, in: queues[message.queue], at: now) else {
                throw PenstockError(
                    .illegalTransition,
                    "Message \(sequence) cannot be redriven while another one has its unique key; wait until that "
                        + "one has ended, or cancel it.")
            }
        }
    }

    func count(_ selection: Selection, for command: LineCommand) throws(PenstockError) -> Int {
        try selection.validate()
        switch selection {
        case .sequences(let sequences):
            return Set(sequences).count { messages[$0].map { command.states.contains($0.state) } ?? false }
        case .queue(let name, let states, let group, let filter, let limit, expected: _):
            _ = try queue(name)
            let states = states.intersection(command.states)
            let count = messages(of: name).count { states.contains($0.state) && $0.passes(group: group, filter) }
            return min(count, limit ?? .max)
        }
    }

    private func selected(
        for command: LineCommand, from name: QueueName, limit: Int, at now: Timestamp,
        where isWanted: (MemoryMessage) -> Bool
    ) -> [SequenceNumber] {
        var keys = KeysTaken()
        var chosen: [SequenceNumber] = []
        var count = 0
        for message in messages(of: name) where command.states.contains(message.state) && isWanted(message) {
            if count == limit { break }
            guard keys.take(for: command, message, in: queues[name], at: now) else { continue }
            chosen.append(message.sequence)
            // Those that are asked again do not count.
            if command.time == nil || message.hold?.request == nil { count += 1 }
        }
        return chosen
    }
}

extension MemoryState {
    func deadWithoutKeyCount(
        of name: QueueName, group: String?, at now: Timestamp
    ) throws(PenstockError) -> Int {
        if let group { try GroupKey.validate(group) }
        let keys = try queue(name).line.keys
        return messages(of: name).count { message in
            message.state == .dead && message.new.uniqueKey?.scope == .untilEnded
                && group.map { message.group == KeyBytes($0) } ?? true
                && message.new.uniqueKey.map { keys.holder(of: KeyBytes($0.key), at: now) != nil } ?? false
        }
    }
}

/// The unique keys that dead letters get back when they are redriven together.
private struct KeysTaken {
    private var taken: [QueueName: Set<KeyBytes>] = [:]

    /// Whether `message` can have its key for what `command` does to it, or goes without.
    mutating func take(
        for command: LineCommand, _ message: MemoryMessage, in queue: MemoryQueue?, at now: Timestamp
    ) -> Bool {
        guard command == .redrive, message.state == .dead, let key = message.new.uniqueKey else { return true }
        if case .period = key.scope { return true }
        let bytes = KeyBytes(key.key)
        let isFree =
            queue?.line.keys.holder(of: bytes, at: now) == nil
            && taken[message.queue, default: []].insert(bytes).inserted
        return isFree || key.scope == .whileWaiting
    }
}
