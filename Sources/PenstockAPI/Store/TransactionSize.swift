import HTTPTypes
import PenstockCore
import PenstockHTTP

/// How much a call writes in one transaction. Nobody else writes meanwhile, whatever process it is.
struct TransactionSize {
    /// Messages and verdicts in one transaction. What verdicts bring into line counts like what is enqueued.
    static let countMax = 2 * Limits.batchCountMax

    private var count = 0
    private var bytes = 0
    private var claimedBytes = 0

    /// - Parameter operations: what is done in the transaction.
    init(of operations: [StoreOperation]) {
        for operation in operations {
            switch operation {
            case .enqueue(let messages, _, _): add(messages)
            case .settle(let settlements): add(settlements)
            case .claim(let request): claimedBytes += ClaimRequest.bytesMax(limit: request.limit)
            }
        }
    }

    private mutating func add(_ messages: some Sequence<NewMessage>) {
        for message in messages {
            count += 1
            bytes += message.payload.count
        }
    }

    private mutating func add(_ settlements: [Settlement]) {
        for settlement in settlements {
            count += 1
            add(settlement.drafts.lazy.map(\.message))
            if let added = settlement.added { add(added.tasks.lazy.map(\.message)) }
        }
    }

    /// Throws a problem with status 413 when it is too much for one.
    func requireRoom() throws(Problem) {
        guard count <= Self.countMax, bytes <= Limits.batchBytesMax, claimedBytes <= ClaimRequest.claimedBytesMax else {
            throw Problem(
                .contentTooLarge, code: PenstockError.Code.invalidInput.rawValue,
                "One transaction has at most \(Self.countMax) messages and verdicts, \(Limits.batchBytesMax) bytes, and claims of \(ClaimRequest.claimedBytesMax) bytes together, with \(ClaimRequest.bytesMax(limit: 1)) for each of their messages and \(ClaimRequest.bytesMax(limit: Limits.batchCountMax)) for each claim at most; make several of it."
            )
        }
    }

    /// Throws a problem with status 413 when one command names too many messages: it moves them in one transaction.
    static func requireRoom(forCommandOn count: Int) throws(Problem) {
        guard count <= countMax else {
            throw Problem(
                .contentTooLarge, code: PenstockError.Code.invalidInput.rawValue,
                "One command names at most \(countMax) messages, not \(count); make several of it.")
        }
    }
}
