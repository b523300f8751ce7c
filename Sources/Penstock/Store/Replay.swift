public import PenstockCore

extension PenstockStore {
    /// Puts history back in line: for each message that `query` finds, a new one with the same payload, headers,
    /// priority and attempts, which names it as its origin. It is due now, has no unique key, and is in its group if the queue has
    /// groups.
    ///
    /// Only what was in the log at the beginning is replayed, so replaying a queue into itself ends. Goes in batches;
    /// memory stays flat. A full queue whose policy is `wait` makes this wait.
    ///
    /// - Parameters:
    ///   - query: which messages. Its limit counts only with `end: .last`: then it is how many of the last ones.
    ///   - queue: where to put them; `nil`: each into its own queue.
    ///   - dryRun: whether only to count.
    /// - Returns: how many messages were put in line, or would be.
    /// - Throws: what the store throws: `unknownQueue` before anything is replayed. After that an error says how many messages were
    ///   replayed before; those stay in line, and a call that is made again puts them in line once more. When the task is cancelled,
    ///   `CancellationError` if none was replayed before, and otherwise `outcomeUnknown`: it was cut short, and what it had just in hand may
    ///   be in line as well.
    @discardableResult
    public func replay(
        _ query: MessageQuery, into queue: QueueName? = nil, dryRun: Bool = false
    ) async throws -> Int {
        try await replay(query, into: queue, dryRun: dryRun, asking: {})
    }

    /// The same for somebody who may lose the right to it meanwhile: a replay takes as long as it finds messages, and waits for room.
    ///
    /// - Parameter mayGoOn: asked for each page and before each offer; what it throws ends the replay. What was replayed before stays.
    package func replay(
        _ query: MessageQuery, into queue: QueueName?, dryRun: Bool, asking mayGoOn: @Sendable () throws -> Void
    ) async throws -> Int {
        var query = query
        query.withPayload = !dryRun
        query.withAttempts = false
        var count = 0
        let grouped = try await grouped(queue ?? query.queue)
        do {
            var pages = try await MessagePages(query, in: storage)
            while case let page = try await pages.next(), !page.isEmpty {
                try Task.checkCancellation()
                try mayGoOn()
                for batch in Self.batches(of: page, into: queue, grouped: grouped) {
                    if !dryRun { try await queueNotLookedUp(batch.queue).enqueue(batch.messages, asking: mayGoOn) }
                    count += batch.messages.count
                }
            }
        } catch var error as PenstockError where !dryRun && count + error.receipts.count > 0 {
            error.tell(of: count + error.receipts.count, "replayed")
            throw error
        } catch let cancellation as CancellationError where !dryRun && count > 0 {
            // Its caller would take it for the word that nothing was done.
            var error = PenstockError(
                .outcomeUnknown, "The replay was cut short; the messages that were replayed name their origin.",
                cause: cancellation)
            error.tell(of: count, "replayed")
            throw error
        }
        return count
    }

    /// The queues with groups among those that messages go into: that one, or any. Nothing is looked at that the caller need not
    /// be allowed to see.
    private func grouped(_ queue: QueueName?) async throws -> Set<QueueName> {
        Set(try await storage.status(of: queue).queues.filter { $0.policy.hasGroupKeys }.map(\.name))
    }

    private typealias Batch = (queue: QueueName, messages: [NewMessage])

    /// Runs of messages for the same queue, none larger than a store takes.
    private static func batches(
        of page: [MessageRecord], into queue: QueueName?, grouped: Set<QueueName>
    ) -> [Batch] {
        var batches: [Batch] = []
        var bytes = 0
        for record in page {
            let target = queue ?? record.queue
            let message = NewMessage(
                payload: record.payload ?? [], headers: record.headers, priority: record.priority,
                attemptsMax: record.attemptsMax, group: grouped.contains(target) ? record.group : nil,
                origin: record.sequence)
            bytes += message.payload.count
            if let last = batches.indices.last, batches[last].queue == target, bytes <= Limits.batchBytesMax {
                batches[last].messages.append(message)
            } else {
                batches.append((target, [message]))
                bytes = message.payload.count
            }
        }
        return batches
    }
}
