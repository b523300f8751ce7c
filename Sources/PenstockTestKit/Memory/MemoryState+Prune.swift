import PenstockCore

extension MemoryState {
    mutating func prune(_ request: PruneRequest, at moment: Moment) throws(PenstockError) -> Pruned {
        try request.validate()
        if let name = request.queue { _ = try queue(name) }
        let names = request.queue.map { [$0] } ?? queues.keys.sorted()
        var pruned = Pruned()
        var left = Limits.expiryCountMax
        for name in names where queues[name]?.isDeleting == false {
            let expired = endExpired(of: name, limit: left, at: moment)
            left -= expired.count
            if let next = expired.next, next <= moment.now { return Pruned(hasMore: true) }
        }
        // One after another: dead letters that go with one queue free what is in the next.
        for name in names where !pruned.hasMore {
            queues[name]?.line.keys.forgetElapsed(at: moment.now)
            let retention = request.retention ?? queues[name]?.policy.retention ?? Retention()
            let beyond = outlived(in: name, by: retention, at: moment.now)
            let forgotten = beyond.prefix(request.limit - pruned.messages)
            countMissed(Array(forgotten), in: name)
            for sequence in forgotten { forget(sequence, at: moment) }
            cascade(at: moment)
            pruned.messages += forgotten.count
            pruned.hasMore = beyond.count > forgotten.count
        }
        return pruned
    }

    /// Counts, for each cursor of a queue by which its log is read, those of `forgotten` that it has not gone past.
    mutating func countMissed(_ forgotten: [SequenceNumber], in name: QueueName) {
        let own = forgotten.filter { messages[$0]?.queue == name }
        for (cursor, record) in queues[name]?.cursors ?? [:] where !cursor.isOfSettings {
            queues[name]?.cursors[cursor]?.missed += own.count { $0 > record.sequence }
        }
    }

    /// The messages of a queue that are to be forgotten, oldest first. Those that wait or run are never among them.
    private func outlived(in name: QueueName, by retention: Retention, at now: Timestamp) -> [SequenceNumber] {
        func isOlder(_ message: MemoryMessage, than age: Duration?) -> Bool {
            guard let age, let finishedAt = message.finishedAt else { return false }
            return now - finishedAt >= age
        }
        let ended = messages(of: name).filter(\.state.isFinished)
        let letters = ended.filter { $0.state == .dead && isOlder($0, than: retention.deadAge) }
        let others = ended.filter { $0.state != .dead }
        let beyondCount = others.dropLast(retention.count ?? others.count)
        let beyondAge = others.filter { isOlder($0, than: retention.age) }
        // Tasks that are still needed are passed over, and no younger message goes in their place.
        let beyond = (letters + beyondCount + beyondAge).filter { !isNeeded($0) }
        return Set(beyond.map(\.sequence)).sorted()
    }
}
