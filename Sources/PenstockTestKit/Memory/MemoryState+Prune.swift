import PenstockCore

extension MemoryState {
    mutating func prune(_ request: PruneRequest, at moment: Moment) throws(PenstockError) -> Pruned {
        try request.validate()
        if let name = request.queue { _ = try queue(name) }
        let names = request.queue.map { [$0] } ?? queues.keys.sorted()
        let beyond = names.flatMap { name in
            outlived(in: name, by: request.retention ?? queues[name]?.policy.retention ?? Retention(), at: moment.now)
        }
        for name in names { countMissed(Array(beyond.prefix(request.limit)), in: name) }
        for sequence in beyond.prefix(request.limit) { forget(sequence) }
        return Pruned(messages: min(beyond.count, request.limit), hasMore: beyond.count > request.limit)
    }

    /// Counts, for each cursor of a queue, those of `forgotten` that it has not gone past.
    mutating func countMissed(_ forgotten: [SequenceNumber], in name: QueueName) {
        let own = forgotten.filter { messages[$0]?.queue == name }
        for (cursor, record) in queues[name]?.cursors ?? [:] {
            queues[name]?.cursors[cursor]?.missed += own.count { $0 > record.sequence }
        }
    }

    /// The messages of a queue that are to be forgotten, oldest first. Those that wait or run are never among them.
    private func outlived(in name: QueueName, by retention: Retention, at now: Timestamp) -> [SequenceNumber] {
        func isOlder(_ message: MemoryMessage, than age: Duration?) -> Bool {
            guard let age, let finishedAt = message.finishedAt else { return false }
            return now - finishedAt >= age
        }
        let ended = messages(of: name).filter { $0.state.isFinished }
        let letters = ended.filter { $0.state == .dead && isOlder($0, than: retention.deadAge) }
        let others = ended.filter { $0.state != .dead }
        let beyondCount = others.dropLast(retention.count ?? others.count)
        let beyondAge = others.filter { isOlder($0, than: retention.age) }
        return Set((letters + beyondCount + beyondAge).map(\.sequence)).sorted()
    }
}
