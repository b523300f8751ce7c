import Penstock
import PenstockCore
import PenstockHTTP

/// Messages by their numbers, for those who may know of them.
struct Lookup: Sendable {
    let store: PenstockStore

    /// A message, if the caller may do that with its queue.
    ///
    /// - Throws: a problem with status 403 or 404.
    func message(
        _ sequence: SequenceNumber, _ principal: Principal, _ scope: Scope, withPayload: Bool = false,
        withAttempts: Bool = false
    ) async throws -> MessageRecord {
        try principal.require(scope)
        let query = MessageQuery(
            sequences: [sequence], limit: 1, withPayload: withPayload, withAttempts: withAttempts)
        guard let record = try await store.storage.messages(query).first else {
            throw PenstockError.unknown(sequence)
        }
        try principal.require(scope, record.queue, ofMessage: sequence)
        return record
    }

    /// Throws a problem with status 403 when the caller may not do that with the queue of one of these messages.
    ///
    /// Of a principal who may do it with all queues nothing is looked up. Of others a number that no message has is refused: the next
    /// message of any queue may have it by the time of the call.
    ///
    /// - Parameter mayBeGone: whether a number that no message has is nobody's, as where a lease's token says which message is meant.
    func require(
        _ principal: Principal, _ scope: Scope, _ sequences: [SequenceNumber], mayBeGone: Bool = false
    ) async throws {
        try principal.require(scope)
        guard principal.queues != nil else { return try principal.require(scope, nil) }
        var left = sequences[...]
        while !left.isEmpty {
            let part = Array(left.prefix(Bounds.sequenceCountMax))
            var absent = Set(part)
            // All pages: the caller can make his own messages so large that they fill the first one.
            try await store.storage.eachPage(of: MessageQuery(sequences: part, limit: Limits.rowsMax)) { page in
                var seen: Set<QueueName> = []
                for record in page where seen.insert(record.queue).inserted {
                    try principal.require(scope, record.queue, ofMessage: record.sequence)
                }
                absent.subtract(page.map(\.sequence))
            }
            if !mayBeGone, let gone = absent.min() { throw PenstockError.unknown(gone) }
            left = left.dropFirst(Bounds.sequenceCountMax)
        }
    }

    /// Throws a problem with status 403 when a start has found a workflow of that name, some task of which is in no queue of the caller's:
    /// the caller is told nothing of it, as when he asks for it.
    func require(_ principal: Principal, toKnow started: StartedWorkflow) async throws {
        if started.isNew || principal.queues == nil { return }
        var query = TaskQuery(started.name, limit: Limits.rowsMax)
        while case let tasks = try await store.storage.tasks(query), let last = tasks.last {
            for task in tasks where !principal.may(.produce, task.queue) { try principal.require(.read, nil) }
            query.after = last.sequence
        }
    }
}
