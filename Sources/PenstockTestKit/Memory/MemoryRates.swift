import PenstockCore

/// What the rates of a queue have let start, on one boot clock.
struct MemoryRates: Sendable {
    /// When messages of a group may start.
    struct GroupTime: Sendable {
        /// What its rate has let start.
        var tat: Int64 = 0
        /// Until when somebody has put it off, by the wall clock.
        var heldUntil: Timestamp?
        /// When to see whether it goes on; `nil`: it does not wait for its time.
        var opensAt: Int64?

        /// From when on it may go on by its rate alone.
        func opensByRate(_ rate: Rate?, at moment: Moment) -> Int64 {
            RateMeter(rate).opens(tat, at: moment.boot.microseconds)
        }

        /// How long somebody has put it off for.
        func held(at moment: Moment) -> Int64? {
            heldUntil.flatMap { $0 > moment.now ? ($0 - moment.now).wholeMicroseconds : nil }
        }

        /// From when on it may go on.
        func opens(_ rate: Rate?, at moment: Moment) -> Int64 {
            max(opensByRate(rate, at: moment), held(at: moment).map { moment.boot.microseconds + $0 } ?? 0)
        }
    }

    /// Of the queue itself.
    var tat: Int64 = 0
    var groups: [KeyBytes: GroupTime] = [:]
    /// The clock of these numbers, and by how much it is behind the wall clock; `nil` while there are none.
    private var clock: (name: String, offset: Int64)?

    /// Reckons the numbers anew when they are on another clock, by the wall clock as it was last.
    mutating func adopt(_ moment: Moment) {
        let offset = moment.wallOffset
        guard let known = clock else { return }
        if known.name == moment.boot.bootID {
            guard abs(offset - known.offset) > 1_000_000 else { return }
            clock?.offset = offset
            // A worker that put a group off spoke of the wall clock, and that was set.
            groups = groups.mapValues { known in
                var known = known
                if known.heldUntil != nil, known.opensAt != nil { known.opensAt = moment.boot.microseconds }
                return known
            }
            return
        }
        let shift = offset - known.offset
        tat = max(0, tat + shift)
        groups = groups.mapValues { known in
            var known = known
            known.tat = max(0, known.tat + shift)
            if known.opensAt != nil { known.opensAt = moment.boot.microseconds }
            return known
        }
        clock = (moment.boot.bootID, offset)
    }

    /// Notes on which clock the numbers are.
    mutating func began(_ moment: Moment) {
        clock = clock ?? (moment.boot.bootID, moment.wallOffset)
    }
}

extension MemoryState {
    /// How many messages more of a queue may start now; `nil`: any number.
    mutating func startRoom(of name: QueueName, at moment: Moment) -> Int? {
        guard let rate = queues[name]?.policy.rate else { return nil }
        queues[name]?.rates.adopt(moment)
        let meter = RateMeter(rate)
        let tat = meter.kept(queues[name]?.rates.tat ?? 0, at: moment.boot.microseconds)
        queues[name]?.rates.tat = tat
        return Int(min(meter.startCount(tat, at: moment.boot.microseconds), Int64(Limits.batchCountMax)))
    }

    /// Notes that a message starts. What of its group may come next is seen when it moves.
    mutating func started(_ message: MemoryMessage, at moment: Moment) {
        guard let policy = queues[message.queue]?.policy, var rates = queues[message.queue]?.rates else { return }
        let boot = moment.boot.microseconds
        if let rate = policy.rate {
            rates.began(moment)
            rates.tat = RateMeter(rate).tat(rates.tat, afterStarts: 1, at: boot)
        }
        if let rate = policy.ratePerKey, let group = message.group {
            rates.adopt(moment)
            rates.began(moment)
            let meter = RateMeter(rate)
            let before = meter.kept(rates.groups[group]?.tat ?? 0, at: boot)
            rates.groups[group, default: .init()].tat = meter.tat(before, afterStarts: 1, at: boot)
        }
        queues[message.queue]?.rates = rates
    }

    /// Gives the start of a message back with which no worker has begun.
    mutating func giveBackStart(of message: MemoryMessage, claimedAt: Timestamp, at moment: Moment) {
        guard let policy = queues[message.queue]?.policy, var rates = queues[message.queue]?.rates else { return }
        rates.adopt(moment)
        let (boot, ago) = (moment.boot.microseconds, (moment.now - claimedAt).wholeMicroseconds)
        if let rate = policy.rate {
            let meter = RateMeter(rate)
            let kept = meter.kept(rates.tat, at: boot)
            rates.tat = meter.tat(kept, withoutStart: ago, at: boot) ?? kept
            ring(message.queue)
        }
        queues[message.queue]?.rates = rates
        guard let rate = policy.ratePerKey, let group = message.group, let known = rates.groups[group] else { return }
        let meter = RateMeter(rate)
        guard let tat = meter.tat(meter.kept(known.tat, at: boot), withoutStart: ago, at: boot) else { return }
        queues[message.queue]?.rates.groups[group]?.tat = tat
        regroupAnew(group, of: message.queue, at: moment)
    }

    /// Whether one more message of a group may be in line for workers. If only time is in the way, the group waits from now on.
    mutating func isOpen(
        _ group: KeyBytes, of name: QueueName, besides sequence: SequenceNumber? = nil, at moment: Moment
    ) -> Bool {
        guard let policy = queues[name]?.policy else { return true }
        queues[name]?.rates.adopt(moment)
        let known = queues[name]?.rates.groups[group]
        if known?.opensAt != nil { return false }
        if policy.ratePerKey != nil, !unclaimed(group, name).subtracting([sequence].compactMap(\.self)).isEmpty {
            return false
        }
        guard let known, known.opens(policy.ratePerKey, at: moment) > moment.boot.microseconds else { return true }
        wait(group, of: name, at: moment)
        return false
    }

    /// Has a group wait until it may go on.
    private mutating func wait(_ group: KeyBytes, of name: QueueName, at moment: Moment) {
        guard let policy = queues[name]?.policy, var known = queues[name]?.rates.groups[group] else { return }
        known.opensAt = max(0, known.opens(policy.ratePerKey, at: moment))
        known.tat = RateMeter(policy.ratePerKey).kept(known.tat, at: moment.boot.microseconds)
        queues[name]?.rates.groups[group] = known
        ring(name)
    }

    /// Forgets that a group waits; one that was put off still is.
    mutating func reopen(_ group: KeyBytes, of name: QueueName, at moment: Moment) {
        queues[name]?.rates.adopt(moment)
        if queues[name]?.rates.groups[group]?.held(at: moment) != nil {
            wait(group, of: name, at: moment)
        } else {
            queues[name]?.rates.groups[group]?.opensAt = nil
        }
    }

    /// Messages with a permit that no worker has.
    private func unclaimed(_ group: KeyBytes, _ name: QueueName) -> Set<SequenceNumber> {
        (queues[name]?.line.permits[group] ?? []).filter { messages[$0]?.state != .leased }
    }

    /// How many messages of a group may be ready.
    mutating func readyMax(_ group: KeyBytes, of name: QueueName, at moment: Moment) -> Int {
        guard let policy = queues[name]?.policy else { return .max }
        queues[name]?.rates.adopt(moment)
        let opens = queues[name]?.rates.groups[group]?.opens(policy.ratePerKey, at: moment) ?? 0
        if opens > moment.boot.microseconds { return 0 }
        return policy.ratePerKey == nil ? .max : 1
    }

    /// Puts off the starts of a message's group.
    mutating func hold(_ sequence: SequenceNumber, for duration: Duration, at moment: Moment) {
        guard let message = messages[sequence], let group = message.group, let queue = queues[message.queue],
            queue.policy.groups != nil
        else { return }
        queues[message.queue]?.rates.adopt(moment)
        queues[message.queue]?.rates.began(moment)
        let until = max(queue.rates.groups[group]?.heldUntil ?? moment.now, moment.now + duration)
        queues[message.queue]?.rates.groups[group, default: .init()].heldUntil = until
        regroupAnew(group, of: message.queue, at: moment)
    }

    /// Lets messages in line whose groups have waited for their time.
    mutating func openDue(_ name: QueueName, at moment: Moment) {
        guard let policy = queues[name]?.policy else { return }
        if policy.groups == nil {
            queues[name]?.rates.groups = [:]
            return
        }
        queues[name]?.rates.adopt(moment)
        let boot = moment.boot.microseconds
        let due = (queues[name]?.rates.groups ?? [:]).compactMap { group, known in
            known.opensAt.flatMap { $0 <= boot ? (opensAt: $0, group: group) : nil }
        }
        for (_, group) in due.sorted(by: { ($0.opensAt, $0.group) < ($1.opensAt, $1.group) }) {
            reopen(group, of: name, at: moment)
            regroup(group, of: name, at: moment)
        }
        let left = queues[name]?.rates.groups.filter { _, known in
            known.opensAt != nil || known.tat > boot || known.held(at: moment) != nil
        }
        queues[name]?.rates.groups = left ?? [:]
    }

    /// When the next group of a queue goes on that waits for its time.
    func nextOpening(of name: QueueName, at moment: Moment) -> Timestamp? {
        guard let queue = queues[name] else { return nil }
        return queue.rates.groups.values.compactMap(\.opensAt).min().map { wall($0, moment) }
    }

    func nextStart(of name: QueueName, at moment: Moment) -> Timestamp? {
        guard let queue = queues[name], let rate = queue.policy.rate else { return nil }
        return wall(RateMeter(rate).opens(queue.rates.tat), moment)
    }

    func wall(_ boot: Int64, _ moment: Moment) -> Timestamp {
        moment.now + .microseconds(max(0, boot - moment.boot.microseconds))
    }
}
