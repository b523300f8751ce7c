// What every store checks before it does anything. What does not pass throws `invalidInput`, names the limit, and
// nothing of the call is done.

extension NewMessage {
    /// Throws ``PenstockError`` with code `invalidInput` when one of `batch` is out of range, or all of them together.
    public static func validate(batch: [NewMessage], now: Timestamp) throws(PenstockError) {
        try require(
            batch.count <= Limits.batchCountMax,
            "A batch has at most \(Limits.batchCountMax) messages (batchCountMax); this one has \(batch.count).")
        var bytes = 0
        for message in batch {
            try message.validate(now: now)
            bytes += message.payload.count
        }
        try require(
            bytes <= Limits.batchBytesMax,
            "A batch's payloads have at most \(Limits.batchBytesMax) bytes (batchBytesMax); these have \(bytes).")
    }

    /// Throws ``PenstockError`` with code `invalidInput` when one of `batch` cannot be appended to a log.
    public static func validate(appended batch: [NewMessage], now: Timestamp) throws(PenstockError) {
        try validate(batch: batch, now: now)
        try require(
            batch.allSatisfy({ $0.due == .now && $0.uniqueKey == nil && $0.group == nil && $0.expiry == nil }),
            "A message that is appended to a log has no due time, no expiry, no unique key and no group.")
    }
}

extension GroupKey {
    /// Throws `invalidInput` when one of `messages` has a group that `queue` does not know of.
    package static func refuse(
        _ messages: [NewMessage], _ queue: QueueName, _ policy: QueuePolicy
    ) throws(PenstockError) {
        guard !policy.hasGroupKeys, messages.contains(where: { $0.group != nil }) else { return }
        throw noGroups(queue)
    }
}

extension LogQuery {
    /// Throws ``PenstockError`` with code `invalidInput` when a number is out of its range.
    public func validate() throws(PenstockError) {
        try require(
            (1...Limits.rowsMax).contains(limit),
            "A page of a log has 1 to \(Limits.rowsMax) messages (rowsMax), not \(limit).")
        switch start {
        case .after: break
        case .last(let count), .preceding(_, let count):
            try require(
                (0...Limits.rowsMax).contains(count),
                "The last 0 to \(Limits.rowsMax) messages (rowsMax) can be read, not \(count).")
        }
    }
}

extension CursorMove {
    /// Throws ``PenstockError`` with code `invalidInput` when a number is out of its range.
    public func validate() throws(PenstockError) {
        switch self {
        case .place(let sequence?, _) where sequence.rawValue < 0:
            throw PenstockError(.invalidInput, "A cursor's place cannot be negative.")
        case .place(_, let note?) where note.utf8.count > Limits.cursorNoteBytesMax || note.utf8.contains(0):
            throw PenstockError(
                .invalidInput,
                "A cursor's note has at most \(Limits.cursorNoteBytesMax) bytes, and none of them is zero.")
        case .advance(let sequence, let missed) where sequence.rawValue < 0 || missed < 0:
            throw PenstockError(.invalidInput, "A cursor's place and what it missed cannot be negative.")
        default:
            return
        }
    }
}

extension ClaimRequest {
    /// Throws ``PenstockError`` with code `invalidInput` when the limit or the lease is out of its range.
    public func validate() throws(PenstockError) {
        try require(
            (1...Limits.batchCountMax).contains(limit),
            "A claim takes 1 to \(Limits.batchCountMax) messages (batchCountMax), not \(limit).")
        try Lease.validate(lease)
    }
}

extension Lease {
    /// Throws ``PenstockError`` with code `invalidInput` when no lease may be that long.
    public static func validate(_ duration: Duration) throws(PenstockError) {
        try require(Limits.leaseRange.contains(duration), "A lease lasts 100 milliseconds to 7 days (leaseRange).")
    }
}

extension Settlement {
    /// Throws ``PenstockError`` with code `invalidInput` when the verdict is one that cannot be.
    public func validate() throws(PenstockError) {
        if let result {
            try require(
                result.count <= Limits.resultBytesMax,
                "A result has at most \(Limits.resultBytesMax) bytes (resultBytesMax); this one has \(result.count).")
        }
        try require(
            verdict.isDone || result == nil && !bringsMessages,
            "Only a message that is done has a result, adds tasks, or has others enqueued after it.")
        switch verdict {
        case .retry(_, _, nil, holdsGroup: true):
            throw PenstockError(.invalidInput, "A retry that holds its group says for how long.")
        case .retry(_, _, let delay?, _) where delay < .zero || delay > Limits.delayMax:
            throw PenstockError(.invalidInput, "A retry is put off by 0 to ten years (delayMax).")
        case .dead(_, let reason) where reason != .rejected && reason != .undecodable:
            throw PenstockError(
                .invalidInput, "A worker's reason for a dead letter is 'rejected' or 'undecodable', not '\(reason)'.")
        default:
            return
        }
    }
}

extension MessageQuery {
    /// Throws ``PenstockError`` with code `invalidInput` when a number is out of its range, or the group's key or the filter one
    /// that no message can have.
    public func validate() throws(PenstockError) {
        try Limits.validate(limit, "messages")
        try Limits.validate(lookMax: lookMax)
        if let group { try GroupKey.validate(group) }
        try matching.validate()
    }
}

extension Limits {
    /// Throws ``PenstockError`` with code `invalidInput` when no query gives so many rows.
    static func validate(_ limit: Int, _ rows: String) throws(PenstockError) {
        try require((1...rowsMax).contains(limit), "A query gives 1 to \(rowsMax) \(rows) (rowsMax), not \(limit).")
    }

    /// Throws ``PenstockError`` with code `invalidInput` when nobody can look at so many messages.
    package static func validate(lookMax: Int) throws(PenstockError) {
        try require(
            (1...lookCountMax).contains(lookMax),
            "A query looks at 1 to \(lookCountMax) messages (lookCountMax), not \(lookMax).")
    }

    /// Throws ``PenstockError`` with code `invalidInput` when no message may be allowed so many attempts.
    static func validate(attemptsMax: Int) throws(PenstockError) {
        try require(
            attemptsRange.contains(attemptsMax),
            "Attempts must be \(attemptsRange.lowerBound) to \(attemptsRange.upperBound).")
    }
}

extension Selection {
    /// Throws ``PenstockError`` with code `invalidInput` when a number is negative, or the group's key or the filter one that no
    /// message can have.
    public func validate() throws(PenstockError) {
        guard case .queue(_, _, let group, let filter, let limit, let expected) = self else { return }
        try require(limit.map { $0 >= 0 } ?? true, "The limit of a selection cannot be negative.")
        try require(expected.map { $0 >= 0 } ?? true, "The number of messages that are expected cannot be negative.")
        if let group { try GroupKey.validate(group) }
        try filter.validate()
    }

    /// Throws ``PenstockError`` with code `selectionChanged` when `count` messages match and the selection expects fewer.
    package func refuse(_ count: Int) throws(PenstockError) {
        guard case .queue(_, _, _, _, _, let expected?) = self, count > expected else { return }
        throw PenstockError(
            .selectionChanged,
            "\(count) \(count == 1 ? "message matches" : "messages match"), and \(expected) \(expected == 1 ? "was" : "were") expected; "
                + "nothing was changed.")
    }
}

extension PruneRequest {
    /// Throws ``PenstockError`` with code `invalidInput` when a number is out of its range.
    public func validate() throws(PenstockError) {
        try require(limit >= 1, "A step of pruning forgets at least one message.")
        try retention?.validate()
    }
}

extension Retention {
    /// Throws ``PenstockError`` with code `invalidInput` when a number is out of its range.
    public func validate() throws(PenstockError) {
        for age in [age, deadAge] {
            if let age, age < .zero || age > Limits.delayMax {
                throw PenstockError(.invalidInput, "A retention age must be 0 to ten years.")
            }
        }
        if let count, count < 0 { throw PenstockError(.invalidInput, "A retention count cannot be negative.") }
    }
}
