/// What a reader of a queue asks of ``MessageStore/claim(_:)``.
public struct ClaimRequest: Sendable {
    /// The queue.
    public var queue: QueueName
    /// How many messages at most.
    public var limit: Int
    /// How long the leases last unless they are extended.
    public var lease: Duration
    /// For whom the messages are, if not for this process; `nil`: for this process.
    ///
    /// A remote worker is one that reaches the store through this process, as a client of a server does. What it holds is its own:
    /// neither ``MessageStore/close()`` nor the death of this process gives it back, and another process can settle and extend it for
    /// the worker. Nobody sees a remote worker die: its messages come back when their leases have ended. After a reboot they
    /// end by the wall clock.
    public var remoteWorker: WorkerName?
    /// Whether a claim that comes after verdicts may be left out because another worker has room and is about to claim. The
    /// caller is woken for what that one does not take.
    package var leavesToOthers = false

    /// Makes a request for up to `limit` messages.
    public init(queue: QueueName, limit: Int, lease: Duration, remoteWorker: WorkerName? = nil) {
        self.queue = queue
        self.limit = limit
        self.lease = lease
        self.remoteWorker = remoteWorker
    }
}

extension ClaimRequest {
    /// Bytes of payloads and headers that a claim of so many messages may answer with at most: it ends behind the message with which
    /// it has more than ``Limits/batchBytesMax``. Whatever the limit is, also one that no store takes.
    package static func bytesMax(limit: Int) -> Int {
        let largestCount = Limits.batchBytesMax / Limits.payloadBytesMax + 1
        return min(max(limit, 0), largestCount) * (Limits.payloadBytesMax + Limits.headerBytesMax)
    }

    /// Bytes of payloads and headers that the claims of one transaction may answer with, as far as their limits tell: those of four
    /// large claims.
    package static let claimedBytesMax = 4 * bytesMax(limit: Limits.batchCountMax)
}

/// A message that the caller now holds.
public struct ClaimedMessage: Sendable {
    /// What a settle or an extend must show.
    public var lease: Lease
    /// Which attempt this is: 1 for the first.
    public var attempt: Int
    /// When it was accepted.
    public var enqueuedAt: Timestamp
    /// Its priority.
    public var priority: Int
    /// Names and values that travel with it.
    public var headers: [String: String]
    /// The bytes that were enqueued.
    public var payload: [UInt8]
    /// The message that this one is a replay of.
    public var origin: SequenceNumber?
    /// Which task of which workflow it is.
    public var task: TaskPlace?
    /// The key of its group.
    public var group: String?

    /// Makes a claimed message.
    public init(
        lease: Lease,
        attempt: Int,
        enqueuedAt: Timestamp,
        priority: Int,
        headers: [String: String],
        payload: [UInt8],
        origin: SequenceNumber?,
        task: TaskPlace? = nil,
        group: String? = nil
    ) {
        self.lease = lease
        self.attempt = attempt
        self.enqueuedAt = enqueuedAt
        self.priority = priority
        self.headers = headers
        self.payload = payload
        self.origin = origin
        self.task = task
        self.group = group
    }
}

/// The messages that a claim leased to the caller, and when to claim again.
public struct Claim: Sendable {
    /// The messages, by priority and then by sequence. Empty when none is ready, or the queue is paused.
    public var messages: [ClaimedMessage]
    /// When to claim again at the latest: when the queue's next scheduled message is due, or a message of it expires; `nil` when
    /// there is none, or the queue is paused.
    public var nextDue: Timestamp?
    /// Whether there were more messages, which a limit or a rate kept back. They can be claimed when others have ended, and are
    /// rung for then, or at ``nextDue``.
    package var isWithheld = false
    /// Whether groups or limits say how many messages may be leased: one that is claimed ahead of need keeps another worker from
    /// working.
    package var isLimited = false
    /// The rows that were set aside on the way, and by what came before it in its transaction. A store at a server does not say so: the
    /// server tells of them.
    package var setAside: [SetAsideRow] = []

    /// Makes a claim's answer.
    public init(messages: [ClaimedMessage], nextDue: Timestamp?) {
        self.messages = messages
        self.nextDue = nextDue
    }

    /// What a claim gives when there is nothing to claim.
    package static func empty(isLimited: Bool, nextDue: Timestamp? = nil) -> Claim {
        var claim = Claim(messages: [], nextDue: nextDue)
        claim.isLimited = isLimited
        return claim
    }

    /// What a claim gives whose queue has messages that a limit or a rate keeps back, all of them.
    ///
    /// - Parameter nextDue: when some can be claimed, as far as time alone is in the way.
    package static func withheld(until nextDue: Timestamp? = nil) -> Claim {
        var claim = Claim.empty(isLimited: true, nextDue: nextDue)
        claim.isWithheld = true
        return claim
    }

    /// Whether this is all that there was for a claim of up to `limit`: a claim also stops short when its payloads and
    /// headers are many bytes.
    package func isAll(of limit: Int) -> Bool {
        messages.count < limit && messages.reduce(0) { $0 + $1.bytes } <= Limits.batchBytesMax
    }
}

/// A row that contradicted the rest of the store and was set aside, so that its message is no longer where the row had it.
package struct SetAsideRow: Sendable {
    package let sequence: SequenceNumber
    /// The queue that the row named; `nil`: there is no such queue.
    package let queue: QueueName?
    /// Why, for people.
    package let reason: String

    package init(sequence: SequenceNumber, queue: QueueName?, reason: String) {
        self.sequence = sequence
        self.queue = queue
        self.reason = reason
    }
}
