/// What a worker says of a message that it holds.
public enum Verdict: Sendable {
    /// It is finished.
    case done
    /// It failed; try again, if attempts are left: after `delay`, or as the queue's policy says when that is `nil`. With
    /// `holdsGroup` nothing of its group starts before `delay` has passed, as when the other end asks to be left alone; that is no
    /// different where the queue has no groups or the message none.
    case retry(
        error: String, outcome: AttemptOutcome = .failed, after: Duration? = nil, holdsGroup: Bool = false)
    /// It failed, and no further attempt can help. `reason` is `rejected` or `undecodable`.
    case dead(error: String, reason: StateReason = .rejected)
    /// It was not worked on: give it back at once, and do not count the attempt.
    case release
    /// It goes on at that moment, or when it gets an event of that name, if one is given and whichever is first. The attempt does
    /// not count. Where the event is there already it goes on at once.
    case suspend(until: Timestamp, event: EventName? = nil)

    /// Whether the time for which the message was leased was work.
    package var isOfWork: Bool { if case .release = self { false } else { true } }
}

/// A verdict on one lease.
public struct Settlement: Sendable {
    /// What the worker holds.
    public var lease: Lease
    /// What it says of it.
    public var verdict: Verdict
    /// What the message gave. Only with ``Verdict/done``.
    public var result: [UInt8]?
    /// What is added to the workflow that the message is a task of. Only with ``Verdict/done``.
    public var added: AddedTasks?
    /// What is enqueued as the message is done, in this order. Only with ``Verdict/done``.
    public var drafts: [Draft]
    /// Whether no handler has begun with the message, as it was not for this worker, or came to nobody.
    package var isUnbegun = false

    /// Gives a message back with which nobody has begun.
    package static func unbegun(_ lease: Lease) -> Settlement {
        var settlement = Settlement(lease, .release)
        settlement.isUnbegun = true
        return settlement
    }

    /// Whether rates are not to count its start, and the time for which it was leased was no work. A message that is settled for good, or
    /// failed, was worked, whatever is said.
    package var givesStartBack: Bool {
        switch verdict {
        case .release, .suspend: isUnbegun
        default: false
        }
    }

    /// Makes a settlement.
    ///
    /// - Parameters:
    ///   - lease: what the worker holds.
    ///   - verdict: what it says of it.
    ///   - result: what the message gave.
    ///   - added: what is added to its workflow.
    ///   - drafts: what is enqueued with the verdict.
    public init(
        _ lease: Lease, _ verdict: Verdict, result: [UInt8]? = nil, added: AddedTasks? = nil, drafts: [Draft] = []
    ) {
        self.lease = lease
        self.verdict = verdict
        self.result = result
        self.added = added
        self.drafts = drafts
    }

    /// Whether a store may refuse it for what it brings into line, and with it the call that it is in.
    package var bringsMessages: Bool { added != nil || !drafts.isEmpty }
}

/// What a settlement did.
public enum SettleResult: Hashable, Sendable {
    /// The message is now in this state.
    case settled(MessageState)
    /// The message was taken back, cancelled or settled before, and may be with another worker. Nothing was changed.
    ///
    /// A lease whose time is over still counts until ``MessageStore/reclaim()`` takes the message back: work that is
    /// done just too late is not done twice.
    case leaseLost
}

/// What a look for lost workers found.
public struct Reclaimed: Hashable, Sendable {
    /// Messages that were taken from dead workers.
    public var fromDeadWorkers: Int
    /// Messages whose lease had ended.
    public var fromExpiredLeases: Int

    /// Makes a report.
    public init(fromDeadWorkers: Int = 0, fromExpiredLeases: Int = 0) {
        self.fromDeadWorkers = fromDeadWorkers
        self.fromExpiredLeases = fromExpiredLeases
    }
}
