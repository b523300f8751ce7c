import PenstockCore

extension MemoryState {
    /// Lets `event` befall a message: the only way in which one that was accepted ever changes its state.
    ///
    /// ``Lifecycle`` decides where the message goes; this carries it there.
    ///
    /// - Returns: the outcome, or `nil` when the message's state does not know the event. Nothing changed then.
    @discardableResult
    mutating func move(
        _ sequence: SequenceNumber, by event: Lifecycle.Event, at moment: Moment
    ) -> Lifecycle.Outcome? {
        guard var message = messages[sequence], let retry = queues[message.queue]?.policy.retry else { return nil }
        let outcome = Lifecycle.outcome(
            of: event, on: message.situation(retry), now: moment.now, policy: retry, random: moment.random.nextUnit())
        guard var outcome else { return nil }
        // A dead letter that had expired as it waited for others waits again.
        let waitsAgain =
            message.state == .dead && outcome.state == .ready && message.dependencies.contains { $0.state != .met }
        if waitsAgain { outcome.state = .pending }

        let left = message.state
        // A worker that gives a message back unbegun has not used its turn up.
        let isReleased = left == .leased && outcome.attempt < message.attempt
        queues[message.queue]?.line.remove(message)
        if let failure = outcome.failure { record(failure, on: &message, at: moment) }
        message.state = outcome.state
        message.reason = outcome.reason
        message.readySince = outcome.state == .ready ? message.readyMoment(by: event, at: moment.now) : nil
        message.due = outcome.due
        message.attempt = outcome.attempt
        message.forgiven = outcome.forgiven
        if outcome.state == .ready {
            if !isReleased || message.turn == 0 { message.turn = turn(of: message) }
        } else if left == .ready, outcome.state != .leased {
            giveTurnBack(message)
        }
        if left.isFinished, !outcome.state.isFinished { message.expires = nil }
        message.finishedAt = outcome.state.isFinished ? moment.now : nil
        message.hold = nil
        message.awaited = nil
        message.isSuspended = false
        message.goesFirst = false
        if outcome.state.isFinished, message.isEndAwaited { ring(message.queue, for: .log) }
        if outcome.state.isFinished { message.isEndAwaited = false }
        queues[message.queue]?.line.add(message)
        queues[message.queue]?.line.keys.follow(message, from: left, at: moment.now)
        messages[sequence] = message

        queues[message.queue]?.totals.count(event, outcome.state)
        ringIfAwaited(sequence, message.queue, from: left, to: outcome.state)
        if left == .leased { ringForLimits(of: message.queue) }
        if let group = message.group, !event.isOfGroup {
            regroup(group, of: message.queue, asSeenBy: sequence, at: moment)
        }
        if waitsAgain {
            for dependency in message.dependencies where dependency.state == .open {
                agree(sequence, with: dependency.parent, at: moment)
            }
        }
        if message.task != nil, outcome.state.isFinished || left.isFinished { tell(of: sequence, at: moment) }
        var result = outcome
        result.state = messages[sequence]?.state ?? outcome.state
        return result
    }

    private func record(_ failure: Lifecycle.Failure, on message: inout MemoryMessage, at moment: Moment) {
        guard let hold = message.hold else { return }
        message.attempts.append(
            AttemptRecord(
                attempt: message.attempt, outcome: failure.outcome, error: failure.error,
                worker: workers[hold.worker]?.name ?? "", startedAt: hold.claimedAt, endedAt: moment.now))
        if message.attempts.count > Limits.attemptsKeptMax { message.attempts.removeFirst() }
    }
}

extension MemoryMessage {
    /// Since when it is ready, as an event makes it so: what has become due is since then, however late a claim finds it.
    fileprivate func readyMoment(by event: Lifecycle.Event, at now: Timestamp) -> Timestamp {
        if case .due = event { due ?? now } else { now }
    }
}

extension Lifecycle.Event {
    /// Whether it comes from the permits of a group, and has no consequences for them.
    fileprivate var isOfGroup: Bool {
        switch self {
        case .blocked, .permitted: true
        default: false
        }
    }
}

extension Totals {
    /// Counts what befell a message, and where it went.
    fileprivate mutating func count(_ event: Lifecycle.Event, _ state: MessageState) {
        switch state {
        case .done: done += 1
        case .dead: dead += 1
        case .dropped: dropped += 1
        case .cancelled: cancelled += 1
        case .pending, .scheduled, .blocked, .ready, .leased: break
        }
        switch event {
        case .settled(.retry) where state.isWaiting: retried += 1
        case .lost: reclaimed += 1
        default: break
        }
    }
}
