import PenstockCore

extension MemoryState {
    func messages(_ query: MessageQuery) throws(PenstockError) -> [MessageRecord] {
        try query.validate()
        if let name = query.queue { _ = try queue(name) }
        let sequences = query.sequences.map(Set.init)
        let found = messages(of: query.queue).filter { message in
            if let sequences, !sequences.contains(message.sequence) { return false }
            if let states = query.states, !states.contains(message.state) { return false }
            if let group = query.group, message.group != KeyBytes(group) { return false }
            if let after = query.after, message.sequence <= after { return false }
            if let since = query.since, message.enqueuedAt < since { return false }
            if let before = query.before, message.enqueuedAt >= before { return false }
            return true
        }
        let chosen = query.end == .first ? found.prefix(query.limit) : found.suffix(query.limit)
        let records = chosen.map {
            record(of: $0, withPayload: query.withPayload, withAttempts: query.withAttempts)
        }
        // Those nearest the end that is asked for, as many as a page carries.
        var page = PageBytes()
        return query.end == .first
            ? Array(records.prefix { page.admits($0.carriedBytes) })
            : records.reversed().prefix { page.admits($0.carriedBytes) }.reversed()
    }

    func record(of message: MemoryMessage, withPayload: Bool, withAttempts: Bool) -> MessageRecord {
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

    func status(of name: QueueName?) throws(PenstockError) -> StoreStatus {
        if let name { _ = try queue(name) }
        let names = name.map { [$0] } ?? queues.keys.sorted()
        let cursors = names.flatMap { name in
            (queues[name]?.cursors ?? [:]).values.sorted { $0.name < $1.name }
        }
        return StoreStatus(
            queues: names.compactMap(status(ofExisting:)), workers: workerRecords(), cursors: cursors)
    }

    private func status(ofExisting name: QueueName) -> QueueStatus? {
        guard let queue = queues[name] else { return nil }
        var depths = Depths()
        for message in messages(of: name) {
            switch message.state {
            case .pending: depths.pending += 1
            case .scheduled: depths.scheduled += 1
            case .blocked: depths.blocked += 1
            case .ready: depths.ready += 1
            case .leased: depths.leased += 1
            case .dead: depths.dead += 1
            case .done, .dropped, .cancelled: depths.kept += 1
            }
        }
        return QueueStatus(
            name: name, policy: queue.policy, isPaused: queue.isPaused, isDeleting: queue.isDeleting, depths: depths,
            totals: queue.totals)
    }

    private func workerRecords() -> [WorkerRecord] {
        let claims = Dictionary(grouping: messages.values.compactMap(\.hold), by: \.worker)
        return workers.filter(\.value.hasClaimed).sorted { $0.key < $1.key }.map { id, worker in
            WorkerRecord(
                id: id, name: worker.name, processID: worker.processID, startedAt: worker.startedAt,
                isAlive: worker.isAlive, leased: claims[id]?.count ?? 0,
                oldestClaim: claims[id]?.map(\.claimedAt).min())
        }
    }
}
