import PenstockCore

extension MemoryState {
    mutating func configure(
        _ name: QueueName, _ change: QueueChange, at moment: Moment
    ) throws(PenstockError) {
        switch change {
        case .create(let policy, let ifAbsent):
            try policy.validate()
            try refuseUnknownLimit(policy)
            if queues[name] == nil {
                try NameRules.refuseUnseen(name.text, of: "queue")
                queues[name] = MemoryQueue(policy: policy)
                if policy.isFair { queues[name]?.fair = MemoryFair() }
                return
            }
            _ = try openQueue(name)
            if !ifAbsent {
                throw PenstockError(.queueExists, "There is a queue '\(name)' already; set its policy instead.")
            }
            return
        case .set(let policy, let replaced):
            try policy.validate()
            try refuseUnknownLimit(policy)
            let before = try openQueue(name).policy
            if let replaced, replaced != before { throw QueuePolicy.hasChanged(name) }
            queues[name]?.policy = policy
            if policy.isFair, queues[name]?.fair == nil { queues[name]?.fair = MemoryFair() }
            if (before.groups, before.ratePerKey) != (policy.groups, policy.ratePerKey) {
                regroupAll(of: name, hadGroups: before.groups != nil, at: moment)
            }
            if before.sharedLimit != policy.sharedLimit { ringForLimits(under: before.sharedLimit) }
        case .pause:
            _ = try openQueue(name)
            queues[name]?.isPaused = true
        case .resume:
            _ = try openQueue(name)
            queues[name]?.isPaused = false
        case .pauseGroup(let key):
            try GroupKey.validate(key)
            guard try openQueue(name).policy.groups != nil else { throw GroupKey.noPermits(name) }
            queues[name]?.pausedGroups.insert(KeyBytes(key))
            regroupAnew(KeyBytes(key), of: name, at: moment)
        case .resumeGroup(let key):
            try GroupKey.validate(key)
            _ = try openQueue(name)
            queues[name]?.pausedGroups.remove(KeyBytes(key))
            queues[name]?.rates.groups[KeyBytes(key)]?.heldUntil = nil
            regroupAnew(KeyBytes(key), of: name, at: moment)
        case .setGroupWeight(let key, let weight):
            try GroupKey.validate(key, weight: weight)
            guard try openQueue(name).policy.isFair else { throw GroupKey.notFair(name) }
            queues[name]?.fair?.setWeight(weight, of: KeyBytes(key))
        case .delete:
            preconditionFailure("A queue is deleted in steps.")
        }
        // There may be room now, or messages to be had; or the queue is gone, which waiters must learn.
        ring(name)
    }

    private func refuseUnknownLimit(_ policy: QueuePolicy) throws(PenstockError) {
        if let name = policy.sharedLimit, limits[name] == nil { throw PenstockError.unknown(name) }
    }

    /// Begins to delete a queue: it takes nothing and gives nothing from here on.
    mutating func beginDeletion(of name: QueueName, force: Bool) throws(PenstockError) {
        let line = try queue(name).line
        guard force || line.openCount == 0 else {
            throw PenstockError(
                .illegalTransition,
                "The queue '\(name)' still has \(line.openCount) messages that wait or run; cancel them first, or "
                    + "delete it with force.")
        }
        queues[name]?.isDeleting = true
        ring(name)
    }

    /// Deletes up to `limit` messages of a queue and, when none is left, the queue.
    ///
    /// - Returns: whether the queue is gone.
    mutating func deleteStep(of name: QueueName, limit: Int, at moment: Moment) throws(PenstockError) -> Bool {
        _ = try queue(name)
        let sequences = messages(of: name).prefix(limit).map(\.sequence)
        for sequence in sequences { forget(sequence, at: moment) }
        cascade(at: moment)
        guard sequences.count < limit else { return false }
        queues[name] = nil
        schedules = schedules.filter { $0.value.schedule.queue != name }
        ring(name)
        return true
    }

    /// Takes a message out of the log as if it had never been. Its sequence number is not used again.
    mutating func forget(_ sequence: SequenceNumber, at moment: Moment) {
        guard let message = messages.removeValue(forKey: sequence) else { return }
        queues[message.queue]?.line.remove(message)
        queues[message.queue]?.line.keys.release(message)
        if message.state == .leased { ringForLimits(of: message.queue) }
        if let group = message.group { regroup(group, of: message.queue, at: moment) }
        log.remove(sequence)
        events[.message(sequence)] = nil
        if let place = message.task { forget(place, sequence) }
    }
}
