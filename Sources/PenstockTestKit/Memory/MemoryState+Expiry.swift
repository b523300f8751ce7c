import PenstockCore

/// Messages that have not started by the time they expire.
extension MemoryState {
    /// Ends up to `limit` messages of a queue that have expired, those first that did so first.
    ///
    /// - Returns: how many have ended, and when the first of those left expires.
    @discardableResult
    mutating func endExpired(
        of name: QueueName, limit: Int = Limits.expiryCountMax, at moment: Moment
    ) -> (count: Int, next: Timestamp?) {
        var count = 0
        while count < limit, let first = queues[name]?.line.expiring.elements.first, first.due <= moment.now,
            expire(first.sequence, at: moment)
        { count += 1 }
        return (count, queues[name]?.line.expiring.elements.first?.due)
    }

    mutating func makeRoom(for count: Int, in name: QueueName, at moment: Moment) {
        guard let queue = queues[name], queue.room < count else { return }
        endExpired(of: name, limit: max(count, Limits.expiryCountMax), at: moment)
    }

    /// Ends the message that holds a key, if it has expired and no worker has it.
    mutating func endHolderIfExpired(of key: KeyBytes, in name: QueueName, at moment: Moment) {
        guard let holder = queues[name]?.line.keys.holder(of: key, at: moment.now)?.sequence else { return }
        endIfExpired(holder, at: moment)
    }

    /// Ends a message if it has expired and no worker has it.
    mutating func endIfExpired(_ sequence: SequenceNumber, at moment: Moment) {
        guard let expires = messages[sequence]?.expires, expires <= moment.now else { return }
        expire(sequence, at: moment)
    }

    @discardableResult
    private mutating func expire(_ sequence: SequenceNumber, at moment: Moment) -> Bool {
        guard let message = messages[sequence], let policy = queues[message.queue]?.policy.whenExpired else {
            return false
        }
        return move(sequence, by: .expired(policy), at: moment) != nil
    }
}
