import PenstockCore

/// Which messages hold the unique keys of one queue.
struct MemoryKeys: Sendable {
    struct Holder: Sendable {
        var sequence: SequenceNumber
        /// When the first of those was accepted that were replaced one by the other, ending with this; `nil`: it replaced none.
        var since: Timestamp?
        /// When the key is free, if it is held for a period. The holder stays here until somebody has the key again.
        var until: Timestamp?
    }

    private var holders: [KeyBytes: Holder] = [:]

    func holder(of key: KeyBytes, at now: Timestamp) -> Holder? {
        guard let holder = holders[key], holder.until.map({ $0 > now }) ?? true else { return nil }
        return holder
    }

    /// Every key that is held.
    func taken(at now: Timestamp) -> Set<KeyBytes> {
        Set(holders.keys.filter { holder(of: $0, at: now) != nil })
    }

    /// Gives a message that was just accepted its key.
    ///
    /// - Parameters:
    ///   - replaced: the message that held it, and what that one left behind.
    mutating func hold(_ message: MemoryMessage, replacing replaced: (holder: Holder, as: ReplacedMessage)?) {
        guard let key = message.new.uniqueKey else { return }
        var holder = Holder(sequence: message.sequence, since: replaced?.as.since)
        if case .period(let period) = key.scope {
            holder.until = replaced?.holder.until ?? message.enqueuedAt + period
        }
        holders[KeyBytes(key.key)] = holder
    }

    /// Sees to the key of a message that was in the state `left` and is in another one now.
    mutating func follow(_ message: MemoryMessage, from left: MessageState, at now: Timestamp) {
        guard let key = message.new.uniqueKey else { return }
        let comesBack: Bool
        switch key.scope {
        case .period: return
        case .untilEnded: comesBack = left.isFinished
        case .whileWaiting: comesBack = left.isFinished || left == .leased
        }
        if message.state.isFinished || message.state == .leased && key.scope == .whileWaiting {
            release(message)
        } else if comesBack, message.state.isWaiting, holder(of: KeyBytes(key.key), at: now) == nil {
            holders[KeyBytes(key.key)] = Holder(sequence: message.sequence)
        }
    }

    /// Frees the key of a message, unless it is held for a period.
    mutating func release(_ message: MemoryMessage) {
        guard let key = message.new.uniqueKey.map({ KeyBytes($0.key) }), let holder = holders[key],
            holder.sequence == message.sequence, holder.until == nil
        else { return }
        holders[key] = nil
    }

    /// Forgets periods that are over.
    mutating func forgetElapsed(at now: Timestamp) {
        holders = holders.filter { holder(of: $0.key, at: now) != nil }
    }
}
