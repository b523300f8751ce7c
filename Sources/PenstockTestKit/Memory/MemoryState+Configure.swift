import PenstockCore

extension MemoryState {
    mutating func configure(_ name: QueueName, _ change: QueueChange) throws(PenstockError) {
        switch change {
        case .create(let policy, let ifAbsent):
            try policy.validate()
            if queues[name] == nil {
                queues[name] = MemoryQueue(policy: policy)
            } else if !ifAbsent {
                throw PenstockError(.queueExists, "There is a queue '\(name)' already; set its policy instead.")
            }
            return
        case .set(let policy):
            try policy.validate()
            _ = try queue(name)
            queues[name]?.policy = policy
        case .pause:
            _ = try queue(name)
            queues[name]?.isPaused = true
        case .resume:
            _ = try queue(name)
            queues[name]?.isPaused = false
        case .delete(let force):
            try delete(name, force: force)
        }
        // There may be room now, or messages to be had; or the queue is gone, which who waits must learn.
        rung.insert(name)
    }

    private mutating func delete(_ name: QueueName, force: Bool) throws(PenstockError) {
        let line = try queue(name).line
        guard force || line.waiting + line.leased.elements.count == 0 else {
            throw PenstockError(
                .illegalTransition,
                "The queue '\(name)' still has \(line.waiting) waiting and \(line.leased.elements.count) running "
                    + "messages; cancel them first, or delete it with force.")
        }
        for sequence in messages(of: name).map(\.sequence) { forget(sequence) }
        queues[name] = nil
    }

    /// Takes a message out of the log as if it had never been. Its sequence number is not used again.
    mutating func forget(_ sequence: SequenceNumber) {
        messages[sequence] = nil
        log.remove(sequence)
    }
}
