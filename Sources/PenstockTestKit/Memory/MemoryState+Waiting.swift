import PenstockCore

/// What a message waits for.
extension MemoryState {
    func waitReason(of sequence: SequenceNumber, at moment: Moment) throws(PenstockError) -> WaitReason {
        let message = try message(sequence)
        var reason = WaitReason(message: record(of: message, withPayload: false, withAttempts: false, at: moment))
        guard let queue = queues[message.queue], !message.state.isFinished else { return reason }
        if message.state == .leased {
            reason.holder = holder(of: message, at: moment)
            return reason
        }
        if queue.isDeleting { reason.causes.append(.queueDeleting) }
        if queue.isPaused { reason.causes.append(.queuePaused) }
        switch message.state {
        case .scheduled:
            reason.causes += scheduled(message)
            if let due = message.due, due <= moment.now {
                reason.causes += startCauses(queue, at: moment) + noWorker(at: moment)
            }
        case .pending: reason.causes += pending(message, at: moment)
        case .blocked: reason.causes += blocked(message, queue, at: moment)
        case .ready: reason.causes += ready(message, queue, at: moment)
        case .leased, .done, .dead, .dropped, .cancelled: break
        }
        return reason
    }

    private func scheduled(_ message: MemoryMessage) -> [WaitReason.Cause] {
        guard let due = message.due else { return [] }
        if let awaited = message.awaited { return [.event(awaited), .due(due, .suspended)] }
        if message.isSuspended { return [.due(due, .suspended)] }
        if message.attempts.last?.attempt == message.attempt { return [.due(due, .retry)] }
        return [.due(due, message.steps.isEmpty ? .asEnqueued : .suspended)]
    }

    private func pending(_ message: MemoryMessage, at moment: Moment) -> [WaitReason.Cause] {
        let open = message.dependencies.filter { $0.state == .open }.compactMap { messages[$0.parent] }
        let named = open.prefix(WaitReason.namedMax).map {
            WaitReason.Cause.task(other($0, task: $0.task?.task, at: moment))
        }
        let causes = named + (open.count > WaitReason.namedMax ? [.moreTasks] : [])
        return causes.isEmpty ? [.untold] : causes
    }

    private func blocked(_ message: MemoryMessage, _ queue: MemoryQueue, at moment: Moment) -> [WaitReason.Cause] {
        guard let group = message.group else { return [] }
        var causes: [WaitReason.Cause] = []
        if queue.pausedGroups.contains(group) { causes.append(.groupPaused) }
        causes += groupTime(group, queue, at: moment)
        let holders = (queue.line.permits[group] ?? []).sorted().compactMap { messages[$0] }
        // While one is free those that have the others are in the way only where a worker is to take one of them first.
        let isUnclaimed = queue.policy.ratePerKey != nil && holders.contains { $0.hold == nil }
        if let permitCount = queue.policy.groups?.permitCount, holders.count >= permitCount || isUnclaimed {
            causes += holders.prefix(WaitReason.namedMax).map { .permit(other($0, at: moment)) }
            if holders.count > WaitReason.namedMax { causes.append(.morePermits) }
        }
        let before = inOrder(
            Set(queue.line.blocked.elements.filter { messages[$0]?.group == group }), queue.policy.groups
        ).prefix { $0 != message.sequence }.count
        if before > 0 { causes.append(.before(WaitReason.Count(before))) }
        return causes
    }

    private func groupTime(_ group: KeyBytes, _ queue: MemoryQueue, at moment: Moment) -> [WaitReason.Cause] {
        var rates = queue.rates
        rates.adopt(moment)
        guard let row = rates.groups[group], let opensAt = row.opensAt else { return [] }
        var causes: [WaitReason.Cause] = []
        if let until = row.heldUntil, until > moment.now { causes.append(.groupHeld(until: until)) }
        var opens = row.opensByRate(queue.policy.ratePerKey, at: moment)
        // Where neither is in the way any more, the group is looked at then.
        if causes.isEmpty, opens <= moment.boot.microseconds { opens = opensAt }
        if opens > moment.boot.microseconds { causes.append(.groupRate(opens: wall(opens, moment))) }
        return causes
    }

    /// What keeps workers from starting anything of the queue, for a message that is ready or due.
    private func startCauses(_ queue: MemoryQueue, at moment: Moment) -> [WaitReason.Cause] {
        var causes: [WaitReason.Cause] = []
        let leased = queue.line.leased.elements.count
        if let limit = queue.policy.limit, leased >= limit { causes.append(.limit(limit, leased: leased)) }
        if let name = queue.policy.sharedLimit, let limit = limitRecords().first(where: { $0.name == name }),
            limit.leased >= limit.count
        {
            causes.append(.sharedLimit(name, limit.count, leased: limit.leased))
        }
        if let rate = queue.policy.rate {
            var rates = queue.rates
            rates.adopt(moment)
            let opens = RateMeter(rate).opens(rates.tat, at: moment.boot.microseconds)
            if opens > moment.boot.microseconds { causes.append(.rate(opens: wall(opens, moment))) }
        }
        return causes
    }

    private func noWorker(at moment: Moment) -> [WaitReason.Cause] {
        workers.contains(where: { $1.hasClaimed && isThere($0, at: moment) }) ? [] : [.noWorker]
    }

    private func ready(_ message: MemoryMessage, _ queue: MemoryQueue, at moment: Moment) -> [WaitReason.Cause] {
        var causes = startCauses(queue, at: moment)
        let ahead = queue.line.ready.elements.prefix { $0.sequence != message.sequence }.count
        if ahead > 0 { causes.append(.ahead(WaitReason.Count(ahead))) }
        return causes + noWorker(at: moment)
    }

    private func other(_ message: MemoryMessage, task: TaskName? = nil, at moment: Moment) -> WaitReason.Other {
        WaitReason.Other(
            sequence: message.sequence, state: message.state, task: task, due: message.due,
            holder: holder(of: message, at: moment))
    }

    private func holder(of message: MemoryMessage, at moment: Moment) -> WaitReason.Holder? {
        guard let id = message.hold?.worker else { return nil }
        return WaitReason.Holder(
            worker: id, name: workers[id]?.name ?? "", isAlive: isThere(id, at: moment))
    }
}
