package import PenstockCore
package import PenstockProcesses

/// What another process has asked for, and this one carries out in a transaction of its own.
package struct PostedRequest: Sendable {
    package let taken: WriterSlots.Taken
    let calls: [PostedCall]
    /// What they gave, once they are carried out.
    package private(set) var answer: [UInt8] = []

    /// Takes what others have posted. To be called where nobody else carries it out: with the writer lock, or the server's.
    ///
    /// - Parameter ownSlot: this store's own slot.
    package static func taken(from slots: WriterSlots, besides ownSlot: Int?, at now: Timestamp) -> [PostedRequest] {
        slots.take(besides: ownSlot).map { taken in
            PostedRequest(taken: taken, calls: PostedCall.read(taken.bytes, now: now))
        }
    }

    /// Whether the answer has to wait for the disk.
    package var awaitsFlush: Bool { calls.contains { $0.durability == .powerLoss } }

    /// Keeps what the calls gave.
    mutating func accept(_ receipts: [[Receipt]]) { answer = PostedAnswer.bytes(of: receipts, to: calls) }

    /// Carries out the calls up to the first that is refused.
    mutating func perform(in transaction: Transaction) throws {
        var receipts: [[Receipt]] = []
        do {
            try transaction.departure?.refuse(unless: .nothing)
            for call in calls {
                receipts.append(
                    try Enqueue.perform(call.messages, to: call.queue, durability: call.durability, in: transaction))
            }
        } catch let error as PenstockError where error.isRefusal {
            // Its own process asks again, and has the refusal for its answer.
        }
        accept(receipts)
    }

    /// Damaged memory can offer a request again that was carried out. The database knows.
    ///
    /// - Returns: whether it was.
    mutating func isKnown(to answers: any AnswerRows, _ connection: Connection) throws -> Bool {
        guard let known = try answers.read(slot: taken.slot, ticket: taken.ticket, connection) else { return false }
        answer = known
        return true
    }
}

/// What a request gave.
package struct RequestAnswer: Sendable {
    package let slot: Int
    package let ticket: UInt64
    /// As ``PostedAnswer`` writes it.
    package let bytes: [UInt8]

    package init(slot: Int, ticket: UInt64, bytes: [UInt8]) {
        self.slot = slot
        self.ticket = ticket
        self.bytes = bytes
    }
}

/// What became of calls that a process has carried out for others: written in the transaction that carries them out. So each is carried
/// out and answered, or neither, whatever dies when.
package protocol AnswerRows: Sendable {
    /// What the request `ticket` of `slot` gave; `nil` when it is not carried out, or not yet, or when ``write(_:_:)`` will say so.
    func read(slot: Int, ticket: UInt64, _ connection: Connection) throws -> [UInt8]?

    /// Writes down what requests gave.
    ///
    /// - Throws: when one of them was carried out before, and ``read(slot:ticket:_:)`` did not say so.
    func write(_ answers: [RequestAnswer], _ connection: Connection) throws
}
