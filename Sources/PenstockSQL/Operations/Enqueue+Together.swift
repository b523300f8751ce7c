import PenstockCore

extension Enqueue {
    /// One call of ``MessageStore/enqueue(_:to:durability:)``.
    typealias Call = (queue: QueueName, messages: [NewMessage], durability: Durability)

    /// Carries out calls that came one by one, from many callers, as one call for each queue: a statement costs about as much as the row
    /// that it writes.
    ///
    /// - Returns: the receipts of each call; `nil` for one that has to be carried out by itself, as there is something to decide for a
    ///   message of it or of another call of its group, or to refuse.
    /// - Parameter groups: calls of which either all can be carried out here or none.
    static func performTogether(_ groups: [[Call]], in transaction: Transaction) throws -> [[[Receipt]]?] {
        var queues: [QueueName: [NewMessage]] = [:]
        for call in groups.joined() { queues[call.queue, default: []] += call.messages }
        var ready: Set<QueueName> = []
        for (queue, messages) in queues where messages.count > 1 {
            if try areAcceptedAtOnce(messages, queue, in: transaction) { ready.insert(queue) }
        }
        if ready.isEmpty { return groups.map { _ in nil } }
        let isTogether = groups.map { $0.allSatisfy { ready.contains($0.queue) } }
        var accepted: [QueueName: ArraySlice<Receipt>] = [:]
        for queue in ready {
            let messages = zip(groups, isTogether).filter(\.1).flatMap { $0.0.filter { $0.queue == queue } }
                .flatMap(\.messages)
            if messages.isEmpty { continue }
            accepted[queue] = try perform(messages, to: queue, durability: .processCrash, in: transaction)[...]
        }
        return zip(groups, isTogether).map { group, isTogether in
            if !isTogether { return nil }
            return group.map { call in
                let own = accepted[call.queue]?.prefix(call.messages.count) ?? []
                accepted[call.queue]?.removeFirst(own.count)
                return own.map { Receipt(sequence: $0.sequence, state: $0.state, durability: call.durability) }
            }
        }
    }

    /// Whether all of `messages` are accepted as they come, whatever there is of other messages, and come in line at once.
    private static func areAcceptedAtOnce(
        _ messages: [NewMessage], _ queue: QueueName, in transaction: Transaction
    ) throws -> Bool {
        guard messages.allSatisfy({ $0.group == nil && $0.expiry == nil }) else { return false }
        do {
            let account = try transaction.account(of: queue)
            return try !account.isDeleting && areReadyAtOnce(messages, account, in: transaction)
        } catch let error as PenstockError where error.isRefusal {
            return false
        }
    }
}
