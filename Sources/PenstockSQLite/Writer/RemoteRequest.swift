import PenstockCore
import PenstockProcesses

/// What another process has asked for, and this one carries out in a transaction of its own.
struct RemoteRequest {
    let taken: WriterSlots.Taken
    let calls: [RemoteCall]
    /// What they gave, once they are carried out.
    private(set) var answer: [UInt8] = []

    /// Takes what others have posted. To be called with the writer lock.
    ///
    /// - Parameter ownSlot: this store's own slot.
    static func taken(_ access: DatabaseAccess, besides ownSlot: Int?, at now: Timestamp) -> [RemoteRequest] {
        // Nothing is called durable once the disk has failed.
        guard access.sharesTransactions, access.flusher?.refusal == nil, let slots = access.writerLock.slots,
            slots.hasRequests
        else { return [] }
        return slots.take(besides: ownSlot).map { taken in
            RemoteRequest(taken: taken, calls: RemoteCall.read(taken.bytes, now: now))
        }
    }

    /// Whether the answer has to wait for the disk.
    var awaitsFlush: Bool { calls.contains { $0.durability == .powerLoss } }

    /// Carries out the calls up to the first that is refused, and writes down what they gave.
    mutating func perform(in transaction: Transaction) throws {
        let (slot, ticket) = (taken.slot, taken.ticket)
        // Damaged memory can offer a request again that was carried out. The database knows.
        if let known = try Answers.read(slot: slot, ticket: ticket, transaction.connection) {
            answer = known
            return
        }
        var receipts: [[Receipt]] = []
        do {
            for call in calls {
                receipts.append(
                    try Enqueue.perform(call.messages, to: call.queue, durability: call.durability, in: transaction))
            }
        } catch let error as PenstockError where error.isRefusal {
            // Its own process asks again, and has the refusal for its answer.
        }
        answer = RemoteAnswer.bytes(of: receipts, to: calls)
        try Answers.write(answer, slot: slot, ticket: ticket, transaction.connection)
    }
}
