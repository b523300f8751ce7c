import PenstockCore

extension MemoryState {
    mutating func append(
        _ batch: [NewMessage], to name: QueueName, unless cursor: CursorName?, durability: Durability,
        at moment: Moment
    ) throws(PenstockError) -> [Receipt] {
        try NewMessage.validate(appended: batch, now: moment.now)
        let queue = try openQueue(name)
        guard !batch.isEmpty else { return [] }
        if let cursor, queue.cursors[cursor] != nil {
            throw PenstockError(
                .illegalTransition, "The log '\(name)' has ended: it has the cursor '\(cursor)'. Use another log.")
        }
        var receipts: [Receipt] = []
        for new in batch {
            lastSequence.rawValue += 1
            var message = MemoryMessage(
                sequence: lastSequence, queue: name, new: new, enqueuedAt: moment.now, state: .done)
            message.finishedAt = moment.now
            messages[message.sequence] = message
            log.insert(message.sequence)
            receipts.append(Receipt(sequence: message.sequence, state: .done, durability: durability))
        }
        queues[name]?.totals.enqueued += batch.count
        queues[name]?.totals.done += batch.count
        ring(name, for: .log)
        if let count = queue.policy.retention.count {
            // As many as came, and a few of those that were too many before.
            let ended = log.elements.filter { sequence in
                guard let message = messages[sequence] else { return false }
                return message.queue == name && message.state.isFinished && message.state != .dead
            }
            let beyond = ended.dropLast(count).filter { messages[$0].map { !isNeeded($0) } ?? false }
                .prefix(batch.count + 64)
            countMissed(Array(beyond), in: name)
            for sequence in beyond { forget(sequence, at: moment) }
            cascade(at: moment)
        }
        return receipts
    }

    func log(_ query: LogQuery) throws(PenstockError) -> LogPage {
        try query.validate()
        let queue = try queue(query.queue)
        let rest = rest(of: query)
        var records: [LogRecord] = []
        var bound = PageBytes()
        for message in rest {
            guard records.count < query.limit, bound.admits(message.new.payload.count + message.new.headers.headerBytes)
            else { break }
            records.append(
                LogRecord(
                    sequence: message.sequence, enqueuedAt: message.enqueuedAt, headers: message.new.headers,
                    payload: message.new.payload))
        }
        let isAtEnd = records.count == rest.count
        var count: Int? = isAtEnd ? records.count : nil
        if case .after = query.start {} else { count = rest.count }
        return LogPage(
            records: records, count: count, isAtEnd: isAtEnd, end: lastSequence, accepted: queue.totals.enqueued,
            cursor: query.cursor.flatMap { queue.cursors[$0] })
    }

    /// What the log has from the query's start on.
    private func rest(of query: LogQuery) -> [MemoryMessage] {
        // Sought from the end, near which most readers are.
        let own = log.elements.reversed().lazy.compactMap { messages[$0] }.filter { $0.queue == query.queue }
        return switch query.start {
        case .after(let sequence): own.prefix { $0.sequence > sequence }.reversed()
        case .last(let count): own.prefix(count).reversed()
        case .preceding(let sequence, let count): own.drop { $0.sequence >= sequence }.prefix(count).reversed()
        }
    }

    mutating func moveCursor(
        _ name: CursorName, of queue: QueueName, _ move: CursorMove, at moment: Moment
    ) throws(PenstockError) -> CursorRecord? {
        try move.validate()
        let cursors = try self.queue(queue).cursors
        switch move {
        case .place(let sequence, let note):
            if let known = cursors[name] { return known }
            if let sequence { try refuseAhead(sequence) }
            try requireRoom(for: name, note, beside: cursors, of: queue)
            queues[queue]?.cursors[name] = CursorRecord(
                queue: queue, name: name, sequence: sequence ?? lastSequence, note: note, movedAt: moment.now)
            ring(queue, for: .log)
        case .advance(let sequence, let missed):
            guard var cursor = cursors[name] else {
                throw PenstockError(
                    .unknownCursor, "The log '\(queue)' has no cursor '\(name)'; subscribe by that name again.")
            }
            try refuseAhead(sequence)
            if sequence <= cursor.sequence { return cursor }
            cursor.movedAt = moment.now
            cursor.sequence = sequence
            cursor.missed += missed
            queues[queue]?.cursors[name] = cursor
        case .remove:
            guard let cursor = cursors[name] else { return nil }
            queues[queue]?.cursors[name] = nil
            ring(queue, for: .log)
            return cursor
        }
        return queues[queue]?.cursors[name]
    }

    /// Those of settings and those of readers take no room from each other.
    private func requireRoom(
        for name: CursorName, _ note: String?, beside cursors: [CursorName: CursorRecord], of queue: QueueName
    ) throws(PenstockError) {
        // How a log has ended is written down whatever readers have said, and however many there are.
        if name == .completion { return }
        let alike = cursors.values.filter { $0.name.isOfSettings == name.isOfSettings }
        try require(
            alike.count < Limits.cursorCountMax,
            "The log '\(queue)' has \(alike.count) cursors (cursorCountMax); remove one that nobody reads by.")
        guard let note, !name.isOfSettings else { return }
        let bytes = alike.reduce(0) { $0 + ($1.note?.utf8.count ?? 0) }
        try require(
            bytes + note.utf8.count <= Limits.cursorNotesBytesMax,
            "The notes of all cursors of the log '\(queue)' have at most \(Limits.cursorNotesBytesMax) bytes (cursorNotesBytesMax), and those that are there have \(bytes); write less, or remove a cursor that nobody reads by."
        )
    }

    private func refuseAhead(_ sequence: SequenceNumber) throws(PenstockError) {
        guard sequence <= lastSequence else {
            throw PenstockError(
                .invalidInput, "The log has not come to message \(sequence) yet, and so no cursor can be there.")
        }
    }
}
