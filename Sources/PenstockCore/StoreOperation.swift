/// One step of a call of ``MessageStore/perform(_:)``.
public enum StoreOperation: Sendable {
    /// Accepts messages, as ``MessageStore/enqueue(_:to:durability:)`` does.
    case enqueue([NewMessage], to: QueueName, durability: Durability)
    /// Carries out verdicts, as ``MessageStore/settle(_:)`` does.
    case settle([Settlement])
    /// Leases messages, as ``MessageStore/claim(_:)`` does.
    case claim(ClaimRequest)
}

/// What one step of a call of ``MessageStore/perform(_:)`` gave.
public enum StoreAnswer: Sendable {
    /// A receipt for each message that was accepted; see ``MessageStore/enqueue(_:to:durability:)``.
    case enqueued([Receipt])
    /// What became of each verdict, in their order.
    case settled([SettleResult])
    /// What the claim gave.
    case claimed(Claim)
}

/// What a call of ``MessageStore/perform(_:)`` gave.
public struct Performed: Sendable {
    /// What each operation gave, in their order. There are fewer than operations when one of them failed, or could not
    /// put all its messages in line.
    public var answers: [StoreAnswer]
    /// Why the operation after these failed; `nil` when none did. It has changed nothing.
    public var failure: (any Error)?

    /// Makes what a call gave.
    public init(answers: [StoreAnswer] = [], failure: (any Error)? = nil) {
        self.answers = answers
        self.failure = failure
    }
}

extension StoreOperation {
    /// Whether it accepts messages.
    package var isEnqueue: Bool { if case .enqueue = self { true } else { false } }

    /// Whether it leases messages.
    package var isClaim: Bool { if case .claim = self { true } else { false } }

    /// The queue that it puts messages in line of, or takes them from.
    package var queue: QueueName? {
        switch self {
        case .enqueue(_, let queue, _): queue
        case .claim(let request): request.queue
        case .settle: nil
        }
    }

    /// Whether operations after this one, which gave `answer`, are not carried out.
    package func isCutShort(by answer: StoreAnswer) -> Bool {
        guard case .enqueue(let messages, _, _) = self, case .enqueued(let receipts) = answer else { return false }
        return receipts.count < messages.count
    }
}
