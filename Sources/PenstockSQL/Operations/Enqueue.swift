package import PenstockCore

/// Accepting messages.
package enum Enqueue {
    /// Says what is about to be written, and makes what is next in line another thing.
    static func prefetch(_ connection: Connection) { connection.willWrite("penstock_log") }

    /// Carries out one call of ``MessageStore/enqueue(_:to:durability:)``.
    package static func perform(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability, in transaction: Transaction
    ) throws -> [Receipt] {
        let account = try transaction.account(of: queue)
        try account.refuseDeleting(in: transaction)
        try GroupKey.refuse(messages, queue, account.policy)
        if account.policy.capacity != nil {
            try Expiring.makeRoom(for: messages.count, account, in: transaction)
        }
        var accepted: [Receipt] = []
        if messages.count > 1, areReadyAtOnce(messages, in: transaction) {
            if try account.hasRoom(for: messages.count, transaction.connection) {
                return try acceptTogether(messages, account, durability, in: transaction)
            }
            accepted = try OverflowBatch.accept(messages, account, durability, in: transaction)
        }
        func acceptEach() throws -> [Receipt] {
            var receipts = accepted
            receipts.reserveCapacity(messages.count)
            for message in messages.dropFirst(accepted.count) {
                guard let receipt = try accept(message, account, durability, in: transaction) else { break }
                receipts.append(receipt)
            }
            return receipts
        }
        // All or none: the one that finds no room undoes those before it.
        let isUndone =
            messages.count > 1
            && (account.policy.capacity?.whenFull == .fail || messages.contains { $0.mayExpireEarly })
        return isUndone ? try transaction.nested(acceptEach) : try acceptEach()
    }

    /// Puts messages in line that come with a verdict. All or none, whatever the policy of their queues: the verdict waits for room
    /// with its message.
    ///
    /// - Throws: `queueFull`, for policy `wait` as well, and the caller undoes what was written then.
    package static func perform(_ drafts: [Draft], in transaction: Transaction) throws {
        for (queue, messages) in drafts.byQueue {
            let receipts = try perform(messages, to: queue, durability: .processCrash, in: transaction)
            guard receipts.count == messages.count else {
                throw PenstockError(
                    .queueFull,
                    "The queue '\(queue)' is full, and nothing was settled or enqueued; try again when some of its messages are "
                        + "worked.")
            }
        }
    }

    /// Whether nothing is to be looked up or decided for any of `messages` where there is room for all.
    static func areReadyAtOnce(_ messages: [NewMessage], in transaction: Transaction) -> Bool {
        messages.allSatisfy { $0.uniqueKey == nil && $0.dueTime(acceptedAt: transaction.now) == nil }
    }

    /// Accepts messages that are ready at once, and that there is room for.
    static func acceptTogether(
        _ messages: [NewMessage], _ account: QueueAccount, _ durability: Durability, in transaction: Transaction
    ) throws -> [Receipt] {
        let hasKeys = messages.contains { $0.group != nil }
        let areReady =
            hasKeys && account.policy.groups != nil
            ? try GroupedBatch.areReady(messages, account, in: transaction) : nil
        let turns =
            account.hasTurns
            ? try Turns.give(
                to: messages, areReady: areReady ?? Array(repeating: true, count: messages.count), account,
                transaction.connection) : nil
        let sequences = try LogRows.write(messages, account, turns: turns, in: transaction)
        let expires = messages.contains { $0.expiry != nil }
        var blocked: Set<Int64> = []
        if let areReady {
            blocked = try GroupedBatch.place(messages, areReady, sequences, in: transaction)
        } else {
            try transaction.connection.run(
                !hasKeys && !expires ? insertPlain : insertMarked, .integer(sequences.lowerBound),
                .integer(sequences.upperBound))
        }
        if expires { try ExpiryRows.insert(sequences, transaction.connection) }
        for (index, message) in messages.enumerated() {
            account.change.lineStart.entered(
                at: LinePlace(
                    priority: Int64(message.priority), turn: turns?[index] ?? 0,
                    sequence: sequences.lowerBound + Int64(index)))
        }
        let readyCount = messages.count - blocked.count
        account.change.count(.ready, Int64(readyCount))
        account.change.count(.blocked, Int64(blocked.count))
        account.change.enqueuedTotal += Int64(messages.count)
        account.ring(messages: expires ? max(1, readyCount) : readyCount)
        return sequences.map { sequence in
            Receipt(
                sequence: SequenceNumber(sequence), state: blocked.contains(sequence) ? .blocked : .ready,
                durability: durability)
        }
    }

    /// Puts messages in line that are in the log and ready.
    static func insertReady(marks: String = Marks.acceptedSQL, where condition: String) -> Query {
        Query(
            """
            INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks)
            SELECT queue_id, priority, turn, sequence, 0, 0, \(marks) FROM penstock_log WHERE \(condition)
            """)
    }

    private static let insertPlain = insertReady(marks: "0", where: "sequence BETWEEN ?1 AND ?2")
    // A group that shares a queue fairly needs no permits.
    private static let insertMarked = insertReady(where: "sequence BETWEEN ?1 AND ?2")

    /// Accepts one message.
    ///
    /// - Returns: its receipt, or `nil` when the queue is full and its policy is `wait`.
    private static func accept(
        _ message: NewMessage, _ account: QueueAccount, _ durability: Durability, in transaction: Transaction
    ) throws -> Receipt? {
        var standing = KeyStanding()
        var replaced: (entry: LineEntry, as: ReplacedMessage)?
        if let key = message.uniqueKey {
            let (found, existing) = try UniqueKeys.liveStanding(of: key.key, account, in: transaction)
            standing = found
            if let holder = found.holder {
                guard key.onConflict.replaces, let existing, existing.state.isWaiting else {
                    // The other one may have been enqueued without waiting for the disk; this receipt says that it did.
                    if durability == .powerLoss { transaction.flush() }
                    return Receipt(
                        sequence: SequenceNumber(holder.sequence), state: existing?.state, durability: durability,
                        skipped: true)
                }
                replaced = (existing, try Line.replaced(existing, since: holder.since, in: transaction))
                try message.validateExpiry(acceptedAt: transaction.now, replacing: replaced?.as)
            }
        }
        var displaced = replaced.map { SequenceNumber($0.entry.sequence) }
        if let replaced {
            // The arriving message takes its place, so nobody asks whether there is room.
            try Line.move(replaced.entry, by: .replaced, in: transaction)
        } else if let policy = account.policy.capacity, try !account.hasRoom(for: 1, transaction.connection) {
            switch policy.whenFull {
            case .fail:
                throw Overflow.refusal(account, capacity: policy.count)
            case .wait:
                return nil
            case .dropNewest:
                return try OverflowBatch.drop([message], account, durability, in: transaction)[0]
            case .dropOldest:
                displaced = try Overflow.displaceOldest(account, in: transaction)
            }
        }
        let turns = try Turns.provisional(for: [message], account, transaction.connection)
        let sequence = try LogRows.write([message], account, turns: turns, in: transaction).lowerBound
        let due = message.dueTime(acceptedAt: transaction.now, replacing: replaced?.as)
        if let key = message.uniqueKey {
            try UniqueKeys.hold(
                key.key, key.scope, sequence, standing, since: replaced?.as.since, account, in: transaction)
        }
        var place = Lifecycle.Outcome(state: due == nil ? .ready : .scheduled, due: due, attempt: 0, forgiven: 0)
        if let key = message.group, place.state == .ready,
            try Groups.admit(sequence, to: Group(account: account, key: key), in: transaction) != .admitted
        {
            place.state = .blocked
        }
        let entry = LineEntry(
            sequence: sequence, account: account, state: place.state, priority: Int64(message.priority), attempt: 0,
            forgiven: 0, marks: Marks(of: message))
        try Line.insert(entry, place, isNew: true, in: transaction)
        if message.expiry != nil { try ExpiryRows.insert(sequence...sequence, transaction.connection) }
        account.change.count(place.state, 1)
        account.change.enqueuedTotal += 1
        account.ring(messages: place.state == .blocked && message.expiry == nil ? 0 : 1)
        return Receipt(
            sequence: SequenceNumber(sequence), state: place.state, durability: durability,
            displaced: displaced)
    }
}

extension Enqueue {
    /// One call of ``MessageStore/enqueue(_:to:durability:)``.
    typealias Call = (queue: QueueName, messages: [NewMessage], durability: Durability)

    /// Carries out calls that came one by one, from many callers, as one call for each queue: a statement costs about as much as the row
    /// that it writes.
    ///
    /// - Parameter groups: calls of which either all can be carried out here or none.
    /// - Returns: for each group the receipts of its calls; `nil`: they have to be carried out one by one, as there is something to decide
    ///   for a message of one of them, or to refuse.
    static func performTogether(_ groups: [[Call]], in transaction: Transaction) throws -> [[[Receipt]]?] {
        let all = messagesByQueue(groups)
        var ready: Set<QueueName> = []
        for (queue, messages) in all where messages.count > 1 {
            if try areAcceptedAtOnce(messages, queue, in: transaction) { ready.insert(queue) }
        }
        if ready.isEmpty { return groups.map { _ in nil } }
        let isTogether = groups.map { $0.allSatisfy { ready.contains($0.queue) } }
        let together =
            isTogether.contains(false) ? messagesByQueue(zip(groups, isTogether).filter(\.1).map(\.0)) : all
        var accepted: [QueueName: ArraySlice<Receipt>] = [:]
        for (queue, messages) in together {
            accepted[queue] = try perform(messages, to: queue, durability: .processCrash, in: transaction)[...]
        }
        return zip(groups, isTogether).map { group, isTogether in
            if !isTogether { return nil }
            return group.map { call in
                let own = accepted[call.queue]?.prefix(call.messages.count) ?? []
                accepted[call.queue]?.removeFirst(own.count)
                return own.map { Receipt(sequence: $0.sequence, state: $0.state, durability: call.durability) }
            }
        }
    }

    private static func messagesByQueue(_ calls: [[Call]]) -> [QueueName: [NewMessage]] {
        var queues: [QueueName: [NewMessage]] = [:]
        for call in calls.joined() { queues[call.queue, default: []] += call.messages }
        return queues
    }

    /// Whether all of `messages` are accepted as they come, whatever there is of other messages, and come in line at once.
    private static func areAcceptedAtOnce(
        _ messages: [NewMessage], _ queue: QueueName, in transaction: Transaction
    ) throws -> Bool {
        guard messages.allSatisfy({ $0.group == nil && $0.expiry == nil }) else { return false }
        do {
            let account = try transaction.account(of: queue)
            return try !account.isDeleting && areReadyAtOnce(messages, in: transaction)
                && account.hasRoom(for: messages.count, transaction.connection)
        } catch let error as PenstockError where error.isRefusal {
            return false
        }
    }
}
