import PenstockCore

extension MemoryState {
    mutating func enqueue(
        _ batch: [NewMessage], to name: QueueName, durability: Durability, at moment: Moment
    ) throws(PenstockError) -> [Receipt] {
        try NewMessage.validate(batch: batch, now: moment.now)
        return try enqueueChecked(batch, to: name, durability: durability, at: moment)
    }

    /// Puts messages in line that were checked when they came to the store.
    mutating func enqueueChecked(
        _ batch: [NewMessage], to name: QueueName, durability: Durability, at moment: Moment
    ) throws(PenstockError) -> [Receipt] {
        try GroupKey.refuse(batch, name, try openQueue(name).policy)
        makeRoom(for: batch.count, in: name, at: moment)
        let queue = try openQueue(name)
        if let capacity = queue.policy.capacity, capacity.whenFull == .fail {
            try refuseUnlessAllFit(batch, queue: queue, named: name, capacity: capacity.count, at: moment.now)
        }
        let before = self
        var receipts: [Receipt] = []
        do throws(PenstockError) {
            for message in batch {
                // Under `wait` the first one without room ends the call; it and the rest are offered again later.
                guard let receipt = try accept(message, to: name, at: moment, durability: durability) else { break }
                receipts.append(receipt)
            }
        } catch {
            self = before
            throw error
        }
        return receipts
    }

    /// Puts messages in line that come with a verdict: all of them, or it throws and the caller undoes those before.
    mutating func enqueue(_ drafts: [Draft], at moment: Moment) throws(PenstockError) {
        for (name, messages) in drafts.byQueue {
            let receipts = try enqueue(messages, to: name, durability: .processCrash, at: moment)
            guard receipts.count == messages.count else {
                throw PenstockError(
                    .queueFull,
                    "The queue '\(name)' has no room for \(messages.count) messages more; nothing was settled.")
            }
        }
    }

    /// Under `fail` a batch is taken as a whole or not at all. Only messages with no key, or with a key that nobody
    /// has by then, need room.
    private func refuseUnlessAllFit(
        _ batch: [NewMessage], queue: MemoryQueue, named name: QueueName, capacity: Int, at now: Timestamp
    ) throws(PenstockError) {
        var taken = queue.line.keys.taken(at: now)
        let needed = batch.count { message in
            guard let key = message.uniqueKey?.key else { return true }
            return taken.insert(KeyBytes(key)).inserted
        }
        guard needed <= queue.room else {
            throw PenstockError(
                .queueFull,
                "The queue '\(name)' is full: \(queue.line.waiting) of \(capacity) messages wait, and \(needed) more "
                    + "do not fit; try again later, or raise its capacity.")
        }
    }

    /// Accepts one message. Returns `nil`, with nothing changed, when it must wait for room.
    private mutating func accept(
        _ message: NewMessage, to name: QueueName, at moment: Moment, durability: Durability
    ) throws(PenstockError) -> Receipt? {
        if let key = message.uniqueKey?.key { endHolderIfExpired(of: KeyBytes(key), in: name, at: moment) }
        guard let queue = queues[name] else { return nil }
        var displaced: SequenceNumber?
        var replaced: (holder: MemoryKeys.Holder, as: ReplacedMessage)?

        if let key = message.uniqueKey, let holder = queue.line.keys.holder(of: KeyBytes(key.key), at: moment.now) {
            let existing = messages[holder.sequence]
            let left = existing.map {
                ReplacedMessage(due: $0.due, since: holder.since ?? $0.enqueuedAt, now: moment.now)
            }
            if key.onConflict.replaces, existing?.state.isWaiting == true {
                try message.validateExpiry(acceptedAt: moment.now, replacing: left)
            }
            guard key.onConflict.replaces, let left, move(holder.sequence, by: .replaced, at: moment) != nil else {
                // One that holds its key for a period may be forgotten by now.
                return Receipt(
                    sequence: holder.sequence, state: existing?.state, durability: durability, skipped: true)
            }
            displaced = holder.sequence
            replaced = (holder, left)
        } else if queue.room == 0 {
            switch queue.policy.capacity?.whenFull {
            case .wait, .fail, nil:
                return nil
            case .dropNewest:
                return append(message, to: name, at: moment, durability: durability, dropped: true)
            case .dropOldest:
                displaced = queue.line.oldest
                if let displaced { move(displaced, by: .displaced, at: moment) }
            }
        }
        var receipt = append(
            message, to: name, at: moment, durability: durability, dropped: false, replacing: replaced)
        receipt.displaced = displaced
        if let group = message.group.map(KeyBytes.init) {
            regroup(group, of: name, asSeenBy: receipt.sequence, at: moment)
            receipt.state = messages[receipt.sequence]?.state ?? receipt.state
        }
        return receipt
    }

    /// Writes a message into the log and, unless it is dropped on arrival, into the line.
    private mutating func append(
        _ new: NewMessage, to name: QueueName, at moment: Moment, durability: Durability, dropped: Bool,
        replacing replaced: (holder: MemoryKeys.Holder, as: ReplacedMessage)? = nil
    ) -> Receipt {
        lastSequence.rawValue += 1
        let due = new.dueTime(acceptedAt: moment.now, replacing: replaced?.as)
        var message = MemoryMessage(
            sequence: lastSequence, queue: name, new: new, enqueuedAt: moment.now,
            state: due == nil ? .ready : .scheduled)
        if !dropped, due == nil { message.turn = turn(of: message) }
        if dropped {
            message.state = .dropped
            message.reason = .dropNewest
            message.finishedAt = moment.now
        } else {
            message.due = due
            message.expires = new.expiryTime(acceptedAt: moment.now)
        }
        messages[message.sequence] = message
        log.insert(message.sequence)
        queues[name]?.line.add(message)
        if !dropped { queues[name]?.line.keys.hold(message, replacing: replaced) }
        queues[name]?.totals.enqueued += 1
        if dropped { queues[name]?.totals.dropped += 1 }
        ringIfAwaited(message.sequence, name, from: nil, to: message.state)
        return Receipt(sequence: message.sequence, state: message.state, durability: durability)
    }

    /// Accepts a task: into the line when it waits for none, by its queue's policy, and otherwise to wait.
    mutating func accept(_ task: NewTask, at place: TaskPlace, _ moment: Moment) -> SequenceNumber {
        if task.dependencies.isEmpty {
            // A task's message has no key, and nothing to be refused for here.
            _ = try? accept(task.message, to: task.queue, at: moment, durability: .processCrash)
        } else {
            lastSequence.rawValue += 1
            var message = MemoryMessage(
                sequence: lastSequence, queue: task.queue, new: task.message, enqueuedAt: moment.now, state: .pending)
            message.expires = task.message.expiryTime(acceptedAt: moment.now)
            messages[lastSequence] = message
            log.insert(lastSequence)
            queues[task.queue]?.line.add(message)
            queues[task.queue]?.totals.enqueued += 1
            ring(task.queue, for: message.expires == nil ? .log : .work)
        }
        messages[lastSequence]?.task = place
        return lastSequence
    }
}
