import PenstockCore

/// Ending messages that have not started by the time they expire.
///
/// Nobody does so at that moment. They end before somebody would have one of them, or would count them: by a claim from their queue,
/// an enqueue that finds no room, a message that wants the key of one, a process that waits for the end of one, and a pruning. Idle
/// workers claim when the first one expires.
enum Expiring {
    /// What a step has come to.
    struct Step {
        /// How many messages have ended.
        var count = 0
        /// When the first of those left expires; `nil` when none of them does. It is past when the step has done as much as it may.
        var next: Timestamp?

        /// Whether there are more that have expired.
        func hasMore(at now: Timestamp) -> Bool { next.map { $0 <= now } ?? false }
    }

    /// Ends up to `limit` messages of a queue that have expired, and no more than `least` once the transaction's time is used up: those first
    /// that did so first. A queue where none does is one look.
    @discardableResult
    static func perform(
        _ account: QueueAccount, limit: Int = Limits.expiryCountMax, least: Int = 1, in transaction: Transaction
    ) throws -> Step {
        var step = Step()
        while let first = try ExpiryRows.first(of: account.id, transaction.connection) {
            guard first.expires <= transaction.now, step.count < limit, step.count < least || !transaction.isOverdue
            else {
                step.next = first.expires
                break
            }
            step.count += 1
            if let entry = try Line.locate(first.sequence, in: transaction), entry.account.id == account.id,
                entry.marks.contains(.expiry), try end(entry, in: transaction)
            {
                continue
            }
            // No message that waits has this row, which contradicts the line.
            try ExpiryRows.end(first.sequence, transaction.connection)
        }
        return step
    }

    static func makeRoom(for count: Int, _ account: QueueAccount, in transaction: Transaction) throws {
        if try account.hasRoom(for: count, transaction.connection) { return }
        try perform(account, limit: max(count, Limits.expiryCountMax), least: count, in: transaction)
    }

    /// Ends a message if it has expired and no worker has it.
    ///
    /// - Returns: whether it has ended.
    static func endIfExpired(_ entry: LineEntry, in transaction: Transaction) throws -> Bool {
        guard entry.marks.contains(.expiry),
            let expires = try ExpiryRows.time(of: entry.sequence, transaction.connection),
            expires <= transaction.now
        else { return false }
        return try end(entry, in: transaction)
    }

    /// - Returns: whether it was in a state that it can expire in.
    private static func end(_ entry: LineEntry, in transaction: Transaction) throws -> Bool {
        guard try Line.move(entry, by: .expired(entry.account.policy.whenExpired), in: transaction) else {
            return false
        }
        // What has waited for its end, however it ends, is told before the next one is looked for: it may be that one.
        if !transaction.cascade.isEmpty { try Cascade.perform(in: transaction) }
        return true
    }
}
