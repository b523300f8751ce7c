import PenstockCore

extension MemoryState {
    /// Whether `lease` is the one under which its message is held now. Every operation on a lease asks this first.
    func isHeld(_ lease: Lease) -> Bool {
        messages[lease.sequence]?.hold?.token == lease.token
    }

    mutating func settle(_ settlements: [Settlement], at moment: Moment) throws(PenstockError) -> [SettleResult] {
        for settlement in settlements {
            try settlement.validate()
            try settlement.added?.validate(now: moment.now)
            try Draft.validate(settlement.drafts, now: moment.now)
        }
        guard settlements.contains(where: \.bringsMessages) else {
            return settlements.map { settle($0, at: moment) }
        }
        // Messages that cannot come into line undo the call.
        let before = self
        var results: [SettleResult] = []
        do throws(PenstockError) {
            for settlement in settlements {
                if let added = settlement.added, isHeld(settlement.lease) {
                    try add(added, by: settlement.lease.sequence, at: moment)
                }
                if isHeld(settlement.lease) { try enqueue(settlement.drafts, at: moment) }
                results.append(settle(settlement, at: moment))
            }
        } catch {
            self = before
            throw error
        }
        return results
    }

    private mutating func settle(_ settlement: Settlement, at moment: Moment) -> SettleResult {
        let sequence = settlement.lease.sequence
        guard isHeld(settlement.lease), let before = messages[sequence], let held = before.hold else {
            return .leaseLost
        }
        var verdict = settlement.verdict
        var awaited: EventName?
        if case .suspend(_, let name?) = verdict {
            awaited = name
            if (try? event(name, for: sequence)) != nil { verdict = .suspend(until: moment.now) }
        }
        if let result = settlement.result { messages[sequence]?.result = result }
        guard let outcome = move(sequence, by: .settled(verdict), at: moment) else { return .leaseLost }
        if settlement.givesStartBack {
            giveBackStart(of: before, claimedAt: held.claimedAt, at: moment)
        } else if verdict.isOfWork {
            queues[before.queue]?.latency.work.record(moment.now - held.claimedAt)
        }
        if case .retry(_, _, let delay?, holdsGroup: true) = settlement.verdict {
            hold(sequence, for: delay, at: moment)
        }
        if outcome.state == .scheduled, case .suspend = verdict {
            messages[sequence]?.isSuspended = !settlement.isUnbegun
            messages[sequence]?.awaited = awaited
        }
        return .settled(outcome.state)
    }

    mutating func extend(
        _ extensions: [LeaseExtension], at moment: Moment
    ) throws(PenstockError) -> [LeaseStanding] {
        for wanted in extensions { try wanted.validate() }
        return extensions.map { extend($0, at: moment) }
    }

    @discardableResult
    mutating func extend(_ wanted: LeaseExtension, at moment: Moment) -> LeaseStanding {
        let lease = wanted.lease
        guard isHeld(lease) else { return .lost }
        if wanted.duration != nil { rebaseRemoteWorkers(at: moment) }
        guard var hold = messages[lease.sequence]?.hold else { return .lost }
        if let duration = wanted.duration {
            let ends = moment.boot + duration
            let isKept = wanted.keepsLonger && hold.request == nil && hold.ends.microseconds > ends.microseconds
            if !isKept { hold.ends = hold.bounded(ends) }
        }
        if let progress = wanted.progress { hold.progress = ProgressRecord(progress, reportedAt: moment.now) }
        messages[lease.sequence]?.hold = hold
        return hold.request == nil ? .held : .cancelRequested
    }

    /// Takes the messages of dead workers, and those whose lease has ended, one worker after the other: of two with a unique key
    /// that is held while one waits, the first to come back has it.
    mutating func reclaim(at moment: Moment) -> Reclaimed {
        rebaseRemoteWorkers(at: moment)
        forgetIdleWorkers(at: moment)
        var reclaimed = Reclaimed()
        let leased = queues.values.flatMap(\.line.leased.elements).map { sequence in
            (rank: messages[sequence]?.hold.flatMap { workers[$0.worker]?.rank } ?? .max, sequence: sequence)
        }
        for (_, sequence) in leased.sorted(by: <) {
            guard let message = messages[sequence], let hold = message.hold else { continue }
            if workers[hold.worker]?.isAlive != true {
                move(sequence, by: .lost(.workerDied), at: moment)
                reclaimed.fromDeadWorkers += 1
            } else if message.leaseHasEnded(at: moment.boot) {
                move(sequence, by: .lost(.leaseExpired), at: moment)
                reclaimed.fromExpiredLeases += 1
            }
        }
        workers = workers.filter { $0.value.isAlive }
        return reclaimed
    }

    /// A worker leaves in good order: what it holds goes back, and the attempts do not count.
    mutating func leave(_ worker: Int64, at moment: Moment) {
        for sequence in queues.values.flatMap(\.line.leased.elements)
        where messages[sequence]?.hold?.worker == worker {
            move(sequence, by: .settled(.release), at: moment)
        }
        workers[worker] = nil
    }
}
