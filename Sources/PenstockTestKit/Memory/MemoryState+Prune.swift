import PenstockCore

extension MemoryState {
    mutating func prune(_ request: PruneRequest, at moment: Moment) throws(PenstockError) -> Pruned {
        try request.validate()
        if let name = request.queue { _ = try queue(name) }
        let names = request.queue.map { [$0] } ?? queues.keys.sorted()
        let beyond = names.flatMap { name in
            outlived(in: name, by: request.retention ?? queues[name]?.policy.retention ?? Retention(), at: moment.now)
        }
        for sequence in beyond.prefix(request.limit) { forget(sequence) }
        return Pruned(messages: min(beyond.count, request.limit), hasMore: beyond.count > request.limit)
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
