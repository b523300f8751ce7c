import PenstockCore

/// Groups, and the permits of each.
extension MemoryState {
    /// Makes the permits of a group agree with where its messages are: those that may not keep one let it go, those that are
    /// ready and have none are blocked, and what is free goes to those that are blocked.
    mutating func regroup(_ group: KeyBytes, of name: QueueName, at moment: Moment) {
        guard let queue = queues[name] else { return }
        guard let policy = queue.policy.groups else { return letGo(group, of: name, at: moment) }
        let count = queue.pausedGroups.contains(group) ? 0 : policy.permitCount
        for sequence in holders(group, name)
        where !(messages[sequence].map { GroupPolicy.keepsPermit(policy, in: $0.state) } ?? false) {
            queues[name]?.line.permits[group]?.remove(sequence)
        }
        if holders(group, name).count > count {
            for sequence in inOrder(holders(group, name), policy).reversed()
            where holders(group, name).count > count && messages[sequence]?.state == .ready {
                block(sequence, group, name, at: moment)
            }
        }
        while holders(group, name).count < count, let next = firstBlocked(group, name),
            isOpen(group, of: name, at: moment)
        {
            permit(next, group, name, at: moment)
        }
        // In a group in order, one whose work has not begun lets one go first that comes before it.
        if case .fifo = policy, let holder = holders(group, name).first, let message = messages[holder],
            message.state == .ready, !message.isBegun, let first = firstBlocked(group, name),
            first < holder || messages[first]?.goesFirst == true, count > 0
        {
            block(holder, group, name, at: moment)
            permit(first, group, name, at: moment)
        }
        if queues[name]?.line.permits[group]?.isEmpty == true { queues[name]?.line.permits[group] = nil }
    }

    /// Sees to a group which is told otherwise, or whose starts are put off: what is ready and may not be, is blocked.
    mutating func regroupAnew(_ group: KeyBytes, of name: QueueName, at moment: Moment) {
        if let policy = queues[name]?.policy.groups {
            reopen(group, of: name, at: moment)
            let ready = holders(group, name).filter { messages[$0]?.state == .ready }
            let most = readyMax(group, of: name, at: moment)
            for sequence in inOrder(ready, policy).dropFirst(most) { block(sequence, group, name, at: moment) }
        }
        regroup(group, of: name, at: moment)
        ring(name)
    }

    /// Nobody needs a permit in a queue without groups.
    private mutating func letGo(_ group: KeyBytes, of name: QueueName, at moment: Moment) {
        queues[name]?.line.permits[group] = nil
        while let next = firstBlocked(group, name) { move(next, by: .permitted, at: moment) }
    }

    /// Sees to a group of which message `sequence` has moved. If it is ready without a permit, it waits for one first, and may
    /// have it at once.
    mutating func regroup(
        _ group: KeyBytes, of name: QueueName, asSeenBy sequence: SequenceNumber, at moment: Moment
    ) {
        if queues[name]?.policy.groups == nil { return }
        let readySince = messages[sequence]?.readySince
        let wasReady = messages[sequence]?.state == .ready
        if messages[sequence]?.state == .ready, !holders(group, name).contains(sequence) {
            move(sequence, by: .blocked, at: moment)
        } else if messages[sequence]?.state == .ready, !isOpen(group, of: name, besides: sequence, at: moment) {
            block(sequence, group, name, at: moment)
        }
        regroup(group, of: name, at: moment)
        // One that has its permit at once has not waited for it.
        if wasReady, messages[sequence]?.state == .ready { messages[sequence]?.readySince = readySince }
    }

    /// Sees to every group of a queue that is told otherwise.
    mutating func regroupAll(of name: QueueName, hadGroups: Bool, at moment: Moment) {
        if !hadGroups {
            for message in messages(of: name) where message.state == .ready || message.state == .leased {
                guard let group = message.group else { continue }
                queues[name]?.line.permits[group, default: []].insert(message.sequence)
            }
        }
        guard let line = queues[name]?.line else { return }
        let blocked = line.blocked.elements.compactMap { messages[$0]?.group }
        let waiting = queues[name]?.rates.groups.filter { $0.value.opensAt != nil }.keys.map(\.self) ?? []
        for group in Set(line.permits.keys).union(blocked).union(waiting) { regroupAnew(group, of: name, at: moment) }
    }

    private func holders(_ group: KeyBytes, _ name: QueueName) -> Set<SequenceNumber> {
        queues[name]?.line.permits[group] ?? []
    }

    private mutating func block(
        _ sequence: SequenceNumber, _ group: KeyBytes, _ name: QueueName, at moment: Moment
    ) {
        queues[name]?.line.permits[group]?.remove(sequence)
        move(sequence, by: .blocked, at: moment)
        if case .fifo = queues[name]?.policy.groups, let isBegun = messages[sequence]?.isBegun {
            messages[sequence]?.goesFirst = isBegun
        }
    }

    private mutating func permit(
        _ sequence: SequenceNumber, _ group: KeyBytes, _ name: QueueName, at moment: Moment
    ) {
        queues[name]?.line.permits[group, default: []].insert(sequence)
        move(sequence, by: .permitted, at: moment)
    }

    private func firstBlocked(_ group: KeyBytes, _ name: QueueName) -> SequenceNumber? {
        let blocked = queues[name]?.line.blocked.elements.filter { messages[$0]?.group == group } ?? []
        return inOrder(Set(blocked), queues[name]?.policy.groups).first
    }

    func inOrder(_ sequences: Set<SequenceNumber>, _ policy: GroupPolicy?) -> [SequenceNumber] {
        if case .fifo = policy {
            let first = sequences.filter { messages[$0]?.goesFirst == true }
            return first.sorted() + sequences.subtracting(first).sorted()
        }
        func priority(_ sequence: SequenceNumber) -> Int { messages[sequence]?.new.priority ?? 0 }
        return sequences.sorted { (priority($1), $0) < (priority($0), $1) }
    }

    /// The groups that have messages with a permit or blocked ones, or are paused.
    func groups(_ query: GroupQuery, at now: Timestamp) throws(PenstockError) -> [GroupRecord] {
        try query.validate()
        let queue = try queue(query.queue)
        var records: [KeyBytes: GroupRecord] = [:]
        func count(_ key: KeyBytes, _ change: (inout GroupRecord) -> Void) {
            change(&records[key, default: GroupRecord(key: key.text, permitted: 0, blocked: 0, isPaused: false)])
        }
        for (key, holders) in queue.line.permits {
            for holder in holders.sorted() {
                count(key) { $0.permitted += 1 }
                if messages[holder]?.state == .dead { count(key) { $0.heldBy = holder } }
            }
        }
        let countMax = query.countMax ?? .max
        for key in queue.line.blocked.elements.compactMap({ messages[$0]?.group }) {
            count(key) { $0.blocked = min($0.blocked + 1, countMax) }
        }
        for key in queue.pausedGroups { count(key) { $0.isPaused = true } }
        for (key, known) in queue.rates.groups {
            if let until = known.heldUntil, until > now { count(key) { $0.heldUntil = until } }
        }
        for (key, weight) in queue.fair?.weights ?? [:] { count(key) { $0.weight = weight } }
        return Array(
            records.values.filter { record in
                query.key.map { KeyBytes($0) == KeyBytes(record.key) } ?? true
                    && query.after.map { KeyBytes($0) < KeyBytes(record.key) } ?? true
            }.sorted { KeyBytes($0.key) < KeyBytes($1.key) }.prefix(query.limit))
    }
}

/// Limits on how many messages are leased.
extension MemoryState {
    /// How many messages more of a queue may be leased; `nil`: any number.
    func leaseRoom(of name: QueueName) -> Int? {
        guard let queue = queues[name] else { return nil }
        var rooms: [Int] = []
        if let limit = queue.policy.limit { rooms.append(limit - queue.line.leased.elements.count) }
        if let shared = queue.policy.sharedLimit, let count = limits[shared] {
            rooms.append(count - leasedCount(under: shared))
        }
        return rooms.min().map { max(0, $0) }
    }

    private func leasedCount(under limit: LimitName) -> Int {
        queues.values.filter { $0.policy.sharedLimit == limit }.reduce(0) { $0 + $1.line.leased.elements.count }
    }

    /// A message of a queue is leased no more: others that a limit has kept back may be.
    mutating func ringForLimits(of name: QueueName) {
        guard let policy = queues[name]?.policy else { return }
        if policy.limit != nil { ring(name) }
        ringForLimits(under: policy.sharedLimit)
    }

    mutating func ringForLimits(under limit: LimitName?) {
        guard let shared = limit else { return }
        for (other, queue) in queues where queue.policy.sharedLimit == shared { ring(other) }
    }

    mutating func setLimit(_ name: LimitName, to count: Int?) throws(PenstockError) {
        let sharing = queues.filter { $0.value.policy.sharedLimit == name }.keys.sorted()
        if let count {
            try LimitRecord.validate(count)
            limits[name] = count
        } else {
            guard limits[name] != nil else { throw PenstockError.unknown(name) }
            if !sharing.isEmpty { throw LimitRecord.isShared(name, sharing) }
            limits[name] = nil
        }
        for queue in sharing { ring(queue) }
    }

    func limitRecords() -> [LimitRecord] {
        limits.sorted { $0.key < $1.key }.map { name, count in
            LimitRecord(
                name: name, count: count, leased: leasedCount(under: name),
                queues: queues.filter { $0.value.policy.sharedLimit == name }.keys.sorted())
        }
    }
}
