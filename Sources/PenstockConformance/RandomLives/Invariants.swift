import PenstockCore

/// What is true of every store at every moment, whatever was done to it. Each rule gives what broke it, in words.
enum Invariants {
    /// Arrivals never make a queue stand above its capacity, or further above than it stood.
    static func capacity(before: QueueStatus, after: QueueStatus) -> [String] {
        guard let capacity = before.policy.capacity?.count else { return [] }
        // What has waited for an arrival that it displaced comes in line whatever the capacity.
        let released = max(0, before.depths.pending - after.depths.pending)
        let most = max(capacity, before.depths.waiting) + released
        return after.depths.waiting <= most ? [] : ["\(after.depths.waiting) wait in \(after.name), for \(capacity)"]
    }

    static func rising(_ sequences: [SequenceNumber]) -> [String] {
        zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 } ? [] : ["numbers do not rise: \(sequences)"]
    }

    /// A claim gives the best of what was ready or due, and nothing else.
    static func claim(_ claim: Claim, limit: Int, from records: [MessageRecord], now: Timestamp) -> [String] {
        let expired = records.filter { record in
            record.state != .leased && !record.state.isFinished && record.expiresAt.map { $0 <= now } == true
        }.map(\.sequence)
        let started = claim.messages.map(\.lease.sequence).filter(expired.contains)
        if !started.isEmpty { return ["\(started) have expired, and were given by a claim"] }
        // What has waited for one of these may have come in line with their ends.
        if !expired.isEmpty { return [] }
        let able = records.filter { record in
            record.state == .ready || record.due.map { $0 <= now } == true
        }
        let best = able.sorted { ($1.priority, $0.sequence) < ($0.priority, $1.sequence) }.prefix(limit)
        let given = claim.messages.map(\.lease.sequence)
        return given == best.map(\.sequence) ? [] : ["a claim gave \(given), not \(best.map(\.sequence))"]
    }

    /// Each message is in one place, and everything about it fits that place.
    static func records(_ records: [MessageRecord]) -> [String] {
        var keys: Set<String> = []
        return rising(records.map(\.sequence))
            + records.flatMap { record in
                let attempts = record.attempts.map(\.attempt)
                let holdsKey = record.keyScope == .untilEnded && !record.state.isFinished
                let rules: [(String, Bool)] = [
                    ("due", (record.due != nil) == (record.state == .scheduled)),
                    ("claimedAt", (record.claimedAt != nil) == (record.state == .leased)),
                    ("leaseEndsAt", (record.leaseEndsAt != nil) == (record.state == .leased)),
                    ("request", record.cancelRequestedAt == nil || record.state == .leased),
                    ("progress", record.progress == nil || record.state == .leased),
                    ("worker", (record.worker != nil) == (record.state == .leased)),
                    ("finishedAt", (record.finishedAt != nil) == record.state.isFinished),
                    ("reason", (record.reason != nil) == (record.state.isFinished && record.state != .done)),
                    ("expiry", Self.fits(record.expiresAt, record)),
                    ("payload", record.payload?.count == record.payloadBytes),
                    ("attempts", zip(attempts, attempts.dropFirst()).allSatisfy { $0 < $1 }),
                    ("attempt", (attempts.last ?? 0) <= record.attempt),
                    ("key", !holdsKey || keys.insert("\(record.queue) \(record.uniqueKey ?? "")").inserted),
                ]
                return rules.filter { !$0.1 }.map { "\($0.0) does not fit in \(record)" }
            }
    }

    /// A skipped message was skipped for one with its key, and no message was accepted beside one that holds its key to the end.
    ///
    /// - Parameters:
    ///   - records: what is in the queue after that.
    static func keys(_ receipts: [Receipt], _ messages: [NewMessage], _ records: [MessageRecord]) -> [String] {
        zip(receipts, messages).flatMap { receipt, message -> [String] in
            guard let key = message.uniqueKey, receipt.state != .dropped else { return [] }
            let own = records.first { $0.sequence == receipt.sequence }
            if receipt.skipped {
                return own == nil || own?.uniqueKey == key.key
                    ? [] : ["\(receipt) was skipped for \(own.debugDescription)"]
            }
            guard let own, own.state.isWaiting else { return [] }
            let others = records.filter {
                $0.sequence != own.sequence && $0.uniqueKey == key.key && $0.keyScope == .untilEnded
                    && !$0.state.isFinished
            }
            let isLate = own.due.map { due in key.waitMax.map { due > own.enqueuedAt + $0 } ?? false } ?? false
            return others.map { "\(own) was accepted beside \($0)" } + (isLate ? ["\(own) is due too late"] : [])
        }
    }

    /// A message that has expired did so not before its time, and none began at that time or later.
    private static func fits(_ expiry: Timestamp?, _ record: MessageRecord) -> Bool {
        guard let expiry else { return record.reason != .expired }
        if let claimedAt = record.claimedAt { return claimedAt < expiry }
        return record.reason != .expired || record.finishedAt.map { $0 >= expiry } == true
    }

    /// The numbers say what a count says.
    static func depths(_ queues: [QueueStatus], _ records: [MessageRecord]) -> [String] {
        var broken: [String] = []
        for queue in queues {
            var counted = Depths()
            for record in records where record.queue == queue.name { counted.count(record.state) }
            if counted != queue.depths { broken.append("\(queue) does not fit a count, which is \(counted)") }
        }
        let strays = records.filter { record in !queues.contains { $0.name == record.queue } }
        return broken + strays.map { "no queue has \($0)" }
    }

    /// No claim gives more than a limit allows.
    static func leased(_ count: Int, limit: Int) -> [String] {
        count <= limit ? [] : ["\(count) are leased, of at most \(limit)"]
    }

    /// No window as long as the period of a rate has more starts than the rate allows. What starts at the same time stands there as
    /// often as it does; the last one is the newest.
    static func rate(_ rate: Rate, _ starts: [BootTime]) -> [String] {
        let most = rate.count + rate.burst - 1
        guard starts.count > most, let last = starts.last else { return [] }
        let span = last.microseconds - starts[starts.count - 1 - most].microseconds
        return span >= rate.period.wholeMicroseconds ? [] : ["\(most + 1) starts in \(span) microseconds, by \(rate)"]
    }

    /// Of each group as many are in line for workers as may be: not more, unless workers had more before, and none is blocked
    /// while fewer are.
    static func groups(
        _ groups: [GroupRecord], _ queue: QueueStatus, _ records: [MessageRecord], mayBeHeld: Bool
    ) -> [String] {
        // Where only time is in the way, messages are blocked though permits are free.
        let mayWait = mayBeHeld || queue.policy.ratePerKey != nil
        return groups.flatMap { group in
            let own = records.filter { $0.queue == queue.name && $0.group == group.key }
            func count(_ state: MessageState) -> Int { own.count { $0.state == state } }
            let most = group.isPaused ? 0 : queue.policy.groups?.permitCount ?? .max
            let held = count(.ready) + count(.leased)
            let rules: [(String, Bool)] = [
                ("the permits of the ready and leased", queue.policy.groups == nil || group.permitted >= held),
                ("what is blocked", group.blocked == count(.blocked)),
                ("what is ready", count(.ready) == 0 || group.permitted <= most),
                ("the rate", queue.policy.ratePerKey == nil || count(.ready) <= 1),
                ("what is free", group.blocked == 0 || group.permitted >= most || mayWait),
                (
                    "what holds it",
                    group.heldBy == nil || own.contains { $0.sequence == group.heldBy && $0.state == .dead }
                ),
            ]
            return rules.filter { !$0.1 }.map { "\($0.0) do not fit \(group) of \(queue), with \(own)" }
        }
    }

    static func cursors(_ cursors: [CursorRecord], last: Int) -> [String] {
        cursors.filter { $0.sequence.rawValue > Int64(last) }.map { "\($0) is ahead of the log, which ends at \(last)" }
    }

    /// A task that has begun waits for nothing, and one that waits has something to wait for.
    static func tasks(_ tasks: [TaskRecord]) -> [String] {
        tasks.filter { task in
            // It may have waited for others as it expired.
            if task.reason == .expired { return false }
            let states = Set(task.dependencies.map(\.state))
            return switch task.state {
            case .pending: !states.contains(.open) || states.contains(.failed)
            case .scheduled, .blocked, .ready, .leased, .done, .dead, .dropped:
                states.contains(.open) || states.contains(.failed)
            case .cancelled: false
            }
        }.map { "the dependencies of \($0) do not fit its state" }
    }

    /// What was accepted is there until the store was told to forget it.
    static func noneLost(_ count: Int, accepted: Int, forgotten: Int) -> [String] {
        count == accepted - forgotten ? [] : ["\(count) messages, of \(accepted) accepted and \(forgotten) forgotten"]
    }
}
