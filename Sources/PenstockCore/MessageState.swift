/// Where a message is in its life. Why it is there is ``StateReason``.
///
/// ```
///            +-----------+  due    +-------+  claim   +--------+  done
///  enqueue ->| scheduled |-------->| ready |--------->| leased |--------> done
///            +-----------+         +-------+          +--------+
///             ^    ^   retry, with a delay | ^  release, lost |  attempts used up, rejected
///  released   |    +-----------------------|-+----------------+--------> dead
///         +---------+  over, late: dropped <+> cancelled          redrive: dead -> ready
///  task ->| pending |--> ready, or cancelled
///         +---------+
///         +---------+   a message of a group that has no permit left is blocked where it would be ready
///         | blocked |--> ready
///         +---------+
/// ```
public enum MessageState: String, Sendable, Codable, CaseIterable {
    /// Waits for other messages, as a task of a workflow. It takes no room in its queue.
    case pending
    /// Waits for its due time, and then for the next claim from its queue, which makes it ready first.
    case scheduled
    /// Waits for a permit of its group, which others have, or which is paused.
    case blocked
    /// Waits for a worker.
    case ready
    /// A worker has it.
    case leased
    /// Finished well.
    case done
    /// Finished badly: a dead letter, which can be redriven.
    case dead
    /// Discarded by a queue's overflow policy, or as it had expired.
    case dropped
    /// Taken out of the line by a person or a program.
    case cancelled

    /// Whether the message waits in line, and so counts against its queue's capacity.
    public var isWaiting: Bool { self == .scheduled || self == .blocked || self == .ready }

    /// Whether nothing more happens to the message by itself.
    public var isFinished: Bool {
        switch self {
        case .pending, .scheduled, .blocked, .ready, .leased: false
        case .done, .dead, .dropped, .cancelled: true
        }
    }
}

/// Why a message is in its state, where the state alone does not say.
public enum StateReason: String, Sendable, Codable, CaseIterable {
    /// Dead: the last allowed attempt failed.
    case attemptsExhausted
    /// Dead: the handler said that no further attempt can help.
    case rejected
    /// Dead: the payload could not be decoded.
    case undecodable
    /// Dead: it was in the log and nowhere in the line, and a repair found it. Nobody knows whether it was worked.
    case misplaced
    /// Dropped: it arrived at a full queue whose policy is `dropNewest`.
    case dropNewest
    /// Dropped: it was the oldest in a full queue whose policy is `dropOldest`.
    case dropOldest
    /// Dropped or dead: it had not started by the time it expired.
    case expired
    /// Cancelled: somebody asked for it. Of one that ran, its worker has ended without being done, or did not end in time.
    case requested
    /// Cancelled: a newer message with the same unique key took its place.
    case replaced
    /// Cancelled: it was a dead letter, and somebody discarded it.
    case discarded
    /// Cancelled: a task that it waited for was not done. Should that one be redriven, this one waits again.
    case parentFailed
}

/// How one attempt at a message ended, if not well. Kept with the message.
public enum AttemptOutcome: String, Sendable, Codable, CaseIterable {
    /// The handler threw, or the command failed; another attempt follows unless none is left.
    case failed
    /// The handler said that no further attempt can help.
    case rejected
    /// The payload could not be decoded.
    case undecodable
    /// The attempt took longer than it may.
    case timedOut
    /// The worker's process died.
    case workerDied
    /// The lease ended before the worker settled or extended it.
    case leaseExpired
}
