import PenstockCore

/// What the rates of a queue have let start, on one boot clock.
struct MemoryRates: Sendable {
    /// Of the queue itself.
    var tat: Int64 = 0
    /// Of each group, and whether it waits for its time.
    var groups: [KeyBytes: (tat: Int64, waits: Bool)] = [:]
    /// The clock of these numbers, and by how much it is behind the wall clock; `nil` while there are none.
    private var clock: (name: String, offset: Int64)?

    /// Reckons the numbers anew when they are on another clock.
    mutating func adopt(_ moment: Moment, _ policy: QueuePolicy) {
        let offset = moment.boot.microseconds - moment.now.microseconds
        guard let known = clock, known.name != moment.boot.bootID else { return }
        let shift = offset - known.offset
        func moved(_ tat: Int64, _ rate: Rate?) -> Int64 {
            let meter = RateMeter(rate)
            return min(tat + shift, moment.boot.microseconds + meter.interval + meter.tolerance)
        }
        tat = moved(tat, policy.rate)
        groups = groups.mapValues { (moved($0.tat, policy.ratePerKey), $0.waits) }
        clock = (moment.boot.bootID, offset)
    }

    /// Notes on which clock the numbers are.
    mutating func began(_ moment: Moment) {
        clock = clock ?? (moment.boot.bootID, moment.boot.microseconds - moment.now.microseconds)
    }
}

extension MemoryState {
    /// How many messages more of a queue may start now; `nil`: any number.
    mutating func startRoom(of name: QueueName, at moment: Moment) -> Int? {
        guard let policy = queues[name]?.policy else { return nil }
        queues[name]?.rates.adopt(moment, policy)
        guard let rate = policy.rate, let tat = queues[name]?.rates.tat else { return nil }
        let count = RateMeter(rate).startCount(tat, at: moment.boot.microseconds)
        return Int(min(count, Int64(Limits.batchCountMax)))
    }

    /// Notes that a message starts. What of its group may come next is seen when it moves.
    mutating func started(_ message: MemoryMessage, at moment: Moment) {
        guard let policy = queues[message.queue]?.policy, var rates = queues[message.queue]?.rates else { return }
        let boot = moment.boot.microseconds
        if let rate = policy.rate {
            rates.tat = RateMeter(rate).tat(rates.tat, afterStarts: 1, at: boot)
            rates.began(moment)
        }
        if let rate = policy.ratePerKey, let group = message.group {
            let before = rates.groups[group] ?? (0, false)
            rates.groups[group] = (RateMeter(rate).tat(before.tat, afterStarts: 1, at: boot), before.waits)
            rates.began(moment)
        }
        queues[message.queue]?.rates = rates
    }

    /// Whether one more message of a group may be in line for workers. If only time is in the way, the group waits from now on.
    mutating func isOpen(
        _ group: KeyBytes, of name: QueueName, besides sequence: SequenceNumber? = nil, at moment: Moment
    ) -> Bool {
        guard let policy = queues[name]?.policy else { return true }
        queues[name]?.rates.adopt(moment, policy)
        let known = queues[name]?.rates.groups[group]
        if known?.waits == true { return false }
        if policy.ratePerKey != nil, !unclaimed(group, name).subtracting([sequence].compactMap(\.self)).isEmpty {
            return false
        }
        guard let known, RateMeter(policy.ratePerKey).opens(known.tat) > moment.boot.microseconds else { return true }
        queues[name]?.rates.groups[group]?.waits = true
        ring(name)
        return false
    }

    /// Messages with a permit that no worker has.
    private func unclaimed(_ group: KeyBytes, _ name: QueueName) -> Set<SequenceNumber> {
        (queues[name]?.line.permits[group] ?? []).filter { messages[$0]?.state != .leased }
    }

    /// How many messages of a group may be ready.
    mutating func readyMax(_ group: KeyBytes, of name: QueueName, at moment: Moment) -> Int {
        guard let policy = queues[name]?.policy, let known = queues[name]?.rates else { return .max }
        queues[name]?.rates.adopt(moment, policy)
        let tat = known.groups[group]?.tat ?? 0
        if RateMeter(policy.ratePerKey).opens(tat) > moment.boot.microseconds { return 0 }
        return policy.ratePerKey == nil ? .max : 1
    }

    /// Puts off the starts of a message's group.
    mutating func hold(_ sequence: SequenceNumber, for duration: Duration, at moment: Moment) {
        guard let message = messages[sequence], let group = message.group, let queue = queues[message.queue],
            queue.policy.groups != nil
        else { return }
        queues[message.queue]?.rates.adopt(moment, queue.policy)
        let until = moment.boot.microseconds + duration.wholeMicroseconds
        let before = queues[message.queue]?.rates.groups[group]?.tat ?? 0
        let tat = RateMeter(queue.policy.ratePerKey).tat(before, heldUntil: until)
        queues[message.queue]?.rates.groups[group] = (tat, false)
        queues[message.queue]?.rates.began(moment)
        regroupAnew(group, of: message.queue, at: moment)
    }

    /// Lets messages in line whose groups have waited for their time.
    mutating func openDue(_ name: QueueName, at moment: Moment) {
        guard let policy = queues[name]?.policy, policy.groups != nil else { return }
        queues[name]?.rates.adopt(moment, policy)
        let meter = RateMeter(policy.ratePerKey)
        let due = (queues[name]?.rates.groups ?? [:])
            .filter { $0.value.waits && meter.opens($0.value.tat) <= moment.boot.microseconds }
        for (group, _) in due.sorted(by: { ($0.value.tat, $0.key) < ($1.value.tat, $1.key) }) {
            queues[name]?.rates.groups[group]?.waits = false
            regroup(group, of: name, at: moment)
        }
        let passed = (queues[name]?.rates.groups ?? [:])
            .filter { !$0.value.waits && $0.value.tat <= moment.boot.microseconds }
        for group in passed.keys { queues[name]?.rates.groups[group] = nil }
    }

    /// When the next group of a queue goes on that waits for its time.
    func nextOpening(of name: QueueName, at moment: Moment) -> Timestamp? {
        guard let queue = queues[name] else { return nil }
        let first = queue.rates.groups.values.filter(\.waits).map(\.tat).min()
        return first.map { wall(RateMeter(queue.policy.ratePerKey).opens($0), moment) }
    }

    /// When the next message of a queue may start, by its rate.
    func nextStart(of name: QueueName, at moment: Moment) -> Timestamp? {
        guard let queue = queues[name], let rate = queue.policy.rate else { return nil }
        return wall(RateMeter(rate).opens(queue.rates.tat), moment)
    }

    func wall(_ boot: Int64, _ moment: Moment) -> Timestamp {
        moment.now + .microseconds(max(0, boot - moment.boot.microseconds))
    }
}
