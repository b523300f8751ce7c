/// Where messages live. One store serves many processes; every rule here holds between them.
///
/// The protocol is narrow and takes batches, so that a store can make one transaction out of many calls. Each call
/// happens as a whole or not at all, and is visible to every other process when it returns, unless it says otherwise.
/// A store decides nothing about a message's life: ``Lifecycle`` does. One conformance suite, the product
/// PenstockConformance, says all of this in tests, and every store runs it.
///
/// Everything throws ``PenstockError``, or `CancellationError` when the calling task is cancelled before the call
/// took effect. After an error the call has changed nothing, unless it says otherwise; after `outcomeUnknown` nobody knows
/// whether it took effect.
public protocol MessageStore: Sendable {
    /// Accepts messages into the log and puts them in line, in their order.
    ///
    /// - Returns: a receipt for each message that was accepted, in order. There are fewer receipts than messages only
    ///   when the queue is full and its policy is `wait`: the rest was not touched, and can be offered again once
    ///   ``changes`` rings for the queue.
    /// - Throws: `unknownQueue`; `queueDeleting`; `invalidInput` (nothing was enqueued); `queueFull` when the policy is
    ///   `fail` and not all of them fit (nothing was enqueued).
    func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt]

    /// Leases up to `limit` ready messages to the caller, by priority and then by sequence.
    ///
    /// Never gives a scheduled message early, one of a queue that is paused or being deleted, or one that another holds. First makes ready
    /// what is due: of more than ``Limits/promotionCountMax`` messages those that have been due longest, and the next
    /// claim the next ones.
    ///
    /// - Throws: `unknownQueue`; `invalidInput`.
    func claim(_ request: ClaimRequest) async throws -> Claim

    /// Carries out verdicts on leased messages. Each stands alone: one that lost its lease changes nothing and stops
    /// no other.
    ///
    /// - Throws: `invalidInput` when a verdict is one that cannot be; then none was carried out.
    func settle(_ settlements: [Settlement]) async throws -> [SettleResult]

    /// Carries out operations in their order: a worker hands in its verdicts and claims, a stream stores what has arrived and
    /// claims what is asked for. A store that can makes one transaction of them.
    ///
    /// An operation that fails changes nothing, undoes none of those before it, and those after it are not carried out.
    /// Neither are those after an enqueue that could not put all its messages in line.
    ///
    /// - Returns: what each operation gave, and why the one after these failed.
    /// - Throws: what the first operation throws; what kept the store from carrying out any of them. Then nothing has
    ///   changed, but for `outcomeUnknown`: whether it has is not known, and what was claimed for the caller is given back, or
    ///   comes back when its lease ends.
    func perform(_ operations: [StoreOperation]) async throws -> Performed

    /// Moves the ends of leases to `duration` from now.
    ///
    /// - Returns: for each lease whether it is still held. One that is not is left alone.
    /// - Throws: `invalidInput` when no lease may be that long.
    func extend(_ leases: [Lease], by duration: Duration) async throws -> [Bool]

    /// Puts the messages of dead workers and of ended leases back in line, the attempt counted.
    func reclaim() async throws -> Reclaimed

    /// Accepts messages into the log and no further: each is `done` as it is accepted, and nobody claims it. For
    /// logs that are read and not worked. A queue's capacity does not matter, since nothing waits. Its retention's
    /// count holds at once: what the log has beyond it is forgotten with the call, at least as much as came.
    ///
    /// - Parameters:
    ///   - messages: what is appended, in this order.
    ///   - queue: the queue that the log is of.
    ///   - cursor: when the log has this cursor, nothing is appended.
    ///   - durability: what the messages must survive.
    /// - Returns: a receipt for each message, in order. Their sequence numbers rise.
    /// - Throws: `unknownQueue`; `queueDeleting`; `illegalTransition` when the log has `cursor`; `invalidInput`, also when
    ///   a message has a due time or a unique key, which mean nothing here. After each of these nothing was appended.
    func append(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability
    ) async throws -> [Receipt]

    /// Reads a page of a queue's log: its messages in the order of acceptance, whatever became of them. Everything
    /// in the answer is of one moment. Changes nothing.
    ///
    /// - Throws: `unknownQueue`; `invalidInput`.
    func log(_ query: LogQuery) async throws -> LogPage

    /// Places, moves or removes a cursor of a queue's log. Pruning counts, for each cursor, the messages that it
    /// forgets before the cursor has gone past them.
    ///
    /// - Returns: the cursor as it is then, or as it was before it was removed; `nil` when there was none to remove.
    /// - Throws: `unknownQueue`; `unknownCursor` when there is none to advance; `invalidInput`, also when the place is
    ///   one that the log has not come to yet, or the queue has ``Limits/cursorCountMax`` cursors already.
    @discardableResult
    func moveCursor(_ cursor: CursorName, of queue: QueueName, _ move: CursorMove) async throws -> CursorRecord?

    /// Reads messages. Changes nothing.
    ///
    /// - Returns: the messages, in the order of sequence. Fewer than the query's limit when there are no more, or when they
    ///   carry more than ``Limits/logPageBytesMax`` bytes; see ``MessageQuery/limit``.
    /// - Throws: `unknownQueue` when the query names a queue that does not exist; `invalidInput`.
    func messages(_ query: MessageQuery) async throws -> [MessageRecord]

    /// Counts what the store holds. Changes nothing.
    ///
    /// - Throws: `unknownQueue` when `queue` is given and does not exist.
    func status(of queue: QueueName?) async throws -> StoreStatus

    /// Makes, changes or removes a queue.
    ///
    /// - Throws: `unknownQueue` unless the change is `create`; `queueDeleting` unless the change is `delete`;
    ///   `invalidInput` when a policy's number is out of range.
    func configure(_ queue: QueueName, _ change: QueueChange) async throws

    /// Moves messages by hand. A large selection is carried out in steps, so that others get their turn; each step
    /// happens as a whole.
    ///
    /// - Returns: how many messages were moved.
    /// - Throws: when messages are selected by sequence: `unknownMessage`, or `illegalTransition` when one is in a
    ///   state that does not know the command, or is to be redriven while another message has its unique key or the
    ///   queue is being deleted; then nothing was moved. Messages selected by queue are passed over in such a case. `unknownQueue`; `invalidInput`.
    func apply(_ command: LineCommand, to selection: Selection) async throws -> Int

    /// Forgets ended messages beyond their queue's retention: one small step, so that others get their turn.
    ///
    /// - Throws: `unknownQueue` when the request names a queue that does not exist; `invalidInput`.
    func prune(_ request: PruneRequest) async throws -> Pruned

    /// Rings after every change that a waiter may be waiting for, this process's or another's.
    var changes: Wakeups { get }

    /// How long a waiter may rely on ``changes`` before it looks by itself: for what others than Penstock wrote, for a
    /// ring that was lost, and for lost work. A quarter of a second, unless the store sees to all of that.
    var lookInterval: Duration { get }

    /// Finishes what was begun, and lets go of the file. Leases that are still held go back in line, as if released.
    /// Every later call throws `closed`, but for this one, which does nothing then.
    func close() async throws
}

extension MessageStore {
    /// Carries out one operation after the other, each by its own call. For stores that wrap another one.
    public func perform(_ operations: [StoreOperation]) async throws -> Performed {
        var performed = Performed()
        for operation in operations {
            do {
                let answer: StoreAnswer =
                    switch operation {
                    case .enqueue(let messages, let queue, let durability):
                        .enqueued(try await enqueue(messages, to: queue, durability: durability))
                    case .settle(let settlements): .settled(try await settle(settlements))
                    case .claim(let request): .claimed(try await claim(request))
                    }
                performed.answers.append(answer)
                if operation.isCutShort(by: answer) { break }
            } catch {
                if performed.answers.isEmpty { throw error }
                performed.failure = error
                break
            }
        }
        return performed
    }
}

extension MessageStore {
    /// A quarter of a second.
    public var lookInterval: Duration { .milliseconds(250) }
}

/// What to do with a queue.
public enum QueueChange: Sendable {
    /// Makes it. Throws `queueExists` when there is one of that name, unless `ifAbsent` is true: then that one stays
    /// as it is.
    case create(QueuePolicy, ifAbsent: Bool)
    /// Gives it another policy. What waits beyond a smaller capacity stays; it only keeps new messages out.
    case set(QueuePolicy)
    /// Refuses claims until `resume`. Messages are still accepted, and running ones go on.
    case pause
    /// Allows claims again.
    case resume
    /// Removes it with all its messages and history. Throws `illegalTransition` when messages wait or run, unless `force`
    /// is true; then none of them was removed.
    ///
    /// A large queue is removed in steps. From the first one on nothing is accepted, claimed or put back in line, until
    /// the queue is gone. When the process dies between two of them, the queue stays so, and the call can be made again.
    case delete(force: Bool)
}

/// What to do with messages by hand.
public enum LineCommand: String, Sendable, CaseIterable {
    /// Takes scheduled, ready and leased messages out of the line. A worker that has one loses its lease.
    case cancel
    /// Puts dead letters back in line with new attempts, and makes scheduled messages ready at once.
    case redrive
    /// Throws dead letters away.
    case discard

    /// The states that know the command.
    public var states: Set<MessageState> {
        switch self {
        case .cancel: [.scheduled, .ready, .leased]
        case .redrive: [.scheduled, .dead]
        case .discard: [.dead]
        }
    }

    /// What the command is to a message.
    package var event: Lifecycle.Event {
        switch self {
        case .cancel: .cancelled
        case .redrive: .redriven
        case .discard: .discarded
        }
    }
}

/// Which messages a command is for.
public enum Selection: Sendable {
    /// These, all of them or none.
    case sequences([SequenceNumber])
    /// Those of a queue that are in one of `states`, oldest first, up to `limit`.
    case queue(QueueName, states: Set<MessageState>, limit: Int? = nil)
}

extension Selection: ExpressibleByArrayLiteral {
    /// Selects these messages, all of them or none.
    public init(arrayLiteral elements: SequenceNumber...) {
        self = .sequences(elements)
    }
}

/// What to forget.
public struct PruneRequest: Sendable {
    /// Only this queue's; `nil`: every queue's.
    public var queue: QueueName?
    /// Instead of the queue's own.
    public var retention: Retention?
    /// How many messages at most.
    public var limit: Int

    /// Makes a request for one step of up to `limit` messages.
    public init(queue: QueueName? = nil, retention: Retention? = nil, limit: Int = 500) {
        self.queue = queue
        self.retention = retention
        self.limit = limit
    }
}

/// What a step of pruning did.
public struct Pruned: Hashable, Sendable {
    /// Messages that were forgotten.
    public var messages: Int
    /// Whether another step would find more.
    public var hasMore: Bool

    /// Makes a report.
    public init(messages: Int = 0, hasMore: Bool = false) {
        self.messages = messages
        self.hasMore = hasMore
    }
}
