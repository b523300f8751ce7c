import PenstockCore

extension MemoryState {
    func messages(_ query: MessageQuery, at moment: Moment) throws(PenstockError) -> MessagePage {
        try query.validate()
        if let name = query.queue { _ = try queue(name) }
        var bounds = LookBounds(query)
        var bytes = PageBytes()
        var page = MessagePage()
        var last: SequenceNumber?
        let candidates = candidates(for: query)
        for message in query.end == .first ? candidates : candidates.reversed() {
            if page.records.count == query.limit || bounds.areReached {
                page.next = last
                break
            }
            bounds.count(payloadBytes: message.new.payload.count)
            if message.passes(query) {
                let record = record(
                    of: message, withPayload: query.withPayload, withAttempts: query.withAttempts, at: moment)
                guard bytes.admits(record.carriedBytes) else {
                    page.next = last
                    break
                }
                page.records.append(record)
            }
            last = message.sequence
        }
        if query.end == .last { page.records.reverse() }
        return page
    }

    /// The messages that a query looks at: what a store finds by an index.
    private func candidates(for query: MessageQuery) -> [MemoryMessage] {
        let sequences = query.sequences.map(Set.init)
        let key = query.matching.uniqueKey.map(KeyBytes.init)
        return messages(of: sequences == nil && key == nil ? query.queue : nil).filter { message in
            if let sequences {
                if !sequences.contains(message.sequence) { return false }
            } else if let key {
                if message.new.uniqueKey.map({ KeyBytes($0.key) }) != key { return false }
            } else if let states = query.states, !states.contains(message.state) {
                return false
            }
            if let after = query.after, message.sequence <= after { return false }
            if let preceding = query.preceding, message.sequence >= preceding { return false }
            if let since = query.since, message.enqueuedAt < since { return false }
            if let before = query.before, message.enqueuedAt >= before { return false }
            return true
        }
    }

    func deadGroups(_ query: DeadGroupQuery) throws(PenstockError) -> DeadGroupPage {
        try query.validate()
        if let name = query.queue { _ = try queue(name) }
        var grouping = DeadGrouping()
        var last: SequenceNumber?
        for (index, message) in candidates(for: query.messages).reversed().enumerated() {
            let signature = ErrorSignature(message.reason, message.attempts.last?.error ?? "")
            guard index < query.lookMax,
                grouping.admits(
                    message.sequence, message.queue, signature, diedAt: message.finishedAt ?? message.enqueuedAt)
            else { return grouping.page(next: last) }
            last = message.sequence
        }
        return grouping.page(next: nil)
    }

    func record(
        of message: MemoryMessage, withPayload: Bool, withAttempts: Bool, at moment: Moment
    ) -> MessageRecord {
        MessageRecord(
            sequence: message.sequence,
            queue: message.queue,
            state: message.state,
            reason: message.reason,
            priority: message.new.priority,
            attempt: message.attempt,
            attemptsMax: message.new.attemptsMax ?? queues[message.queue]?.policy.retry.attemptsMax ?? 0,
            enqueuedAt: message.enqueuedAt,
            due: message.due,
            expiresAt: message.state.isFinished
                ? message.new.expiryTime(acceptedAt: message.enqueuedAt) : message.expires,
            claimedAt: message.hold?.claimedAt,
            leaseEndsAt: message.hold?.ends.wall(at: moment.boot, moment.now),
            worker: message.hold?.worker,
            cancelRequestedAt: message.hold?.request?.madeAt,
            progress: message.hold?.progress,
            finishedAt: message.finishedAt,
            uniqueKey: message.new.uniqueKey?.key,
            keyScope: message.new.uniqueKey?.scope,
            group: message.new.group,
            headers: message.new.headers,
            origin: message.new.origin,
            payloadBytes: message.new.payload.count,
            payload: withPayload ? message.new.payload : nil,
            attempts: withAttempts ? message.attempts : []
        )
    }

    func status(of name: QueueName?, at moment: Moment) throws(PenstockError) -> StoreStatus {
        if let name { _ = try queue(name) }
        let names = name.map { [$0] } ?? queues.keys.sorted()
        var cursors = names.flatMap { name in
            (queues[name]?.cursors ?? [:]).values.sorted { $0.name < $1.name }
        }
        if name == nil {
            for index in cursors.indices where !cursors[index].name.isOfSettings { cursors[index].note = nil }
        }
        return StoreStatus(
            queues: names.compactMap { status(ofExisting: $0, at: moment.now) }, workers: workerRecords(at: moment),
            cursors: cursors)
    }

    private func status(ofExisting name: QueueName, at now: Timestamp) -> QueueStatus? {
        guard let queue = queues[name] else { return nil }
        var depths = Depths()
        for message in messages(of: name) { depths.count(message.state) }
        return QueueStatus(
            name: name, policy: queue.policy, isPaused: queue.isPaused, isDeleting: queue.isDeleting, depths: depths,
            totals: queue.totals, oldestReady: oldestReady(of: name, at: now),
            oldestLease: queue.line.leased.elements.compactMap { messages[$0]?.hold?.claimedAt }.min(),
            latency: queue.latency)
    }

    private func oldestReady(of name: QueueName, at now: Timestamp) -> Timestamp? {
        guard let line = queues[name]?.line else { return nil }
        let due = line.scheduled.elements.first.flatMap { $0.due <= now ? $0.due : nil }
        let ready = line.ready.elements.compactMap { messages[$0.sequence] }
        // Of those that are ready since they were accepted the first in the log is the oldest, of each priority.
        let accepted = Dictionary(grouping: ready.filter { $0.readySince == nil }) { message in
            message.turn == 0 ? message.new.priority : nil
        }
        let first = accepted.values.compactMap { $0.min { $0.sequence < $1.sequence }?.enqueuedAt }
        return (ready.compactMap(\.readySince) + first + [due].compactMap(\.self)).min()
    }

    private func workerRecords(at moment: Moment) -> [WorkerRecord] {
        let claims = Dictionary(grouping: messages.values.compactMap(\.hold), by: \.worker)
        return workers.filter(\.value.hasClaimed).sorted { $0.key < $1.key }.map { id, worker in
            WorkerRecord(
                id: id, name: worker.name, processID: worker.processID, startedAt: worker.startedAt,
                isAlive: isThere(id, at: moment), leased: claims[id]?.count ?? 0,
                oldestClaim: claims[id]?.map(\.claimedAt).min())
        }
    }
}

extension MemoryMessage {
    /// Whether it has all that a query asks for, but for what ``MemoryState`` looks for by itself.
    fileprivate func passes(_ query: MessageQuery) -> Bool {
        if let queue = query.queue, self.queue != queue { return false }
        if let states = query.states, !states.contains(state) { return false }
        return passes(group: query.group, query.matching)
    }

    func passes(group key: String?, _ filter: MessageFilter) -> Bool {
        if let key, group != KeyBytes(key) { return false }
        return filter.passes(
            uniqueKey: new.uniqueKey?.key, headers: new.headers, payload: new.payload,
            lastError: attempts.last?.error, reason: reason)
    }
}
