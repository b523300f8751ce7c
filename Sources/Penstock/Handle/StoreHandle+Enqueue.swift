internal import PenstockCore

extension StoreHandle {
    /// Enqueues all of `messages`. When the queue is full and its policy is `wait`, offers the rest again each time
    /// there may be room, in turn with the process's other producers for that queue.
    ///
    /// A queue that is not full costs one call of the store, whatever its policy.
    func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability?, timeout: Duration?
    ) async throws -> [Receipt] {
        guard !messages.isEmpty else { return [] }
        let deadline = timeout.map { time.boot + $0 }
        var rest = messages[...]
        var receipts: [Receipt] = []

        func offerRest() async throws {
            let accepted = try await storage.enqueue(
                Array(rest), to: queue, durability: durability ?? self.durability)
            metrics(of: queue).record(accepted, of: rest)
            receipts += accepted
            rest = rest.dropFirst(accepted.count)
        }
        func timedOut() -> PenstockError {
            var error = PenstockError(
                .timedOut,
                "The queue '\(queue)' was full for the whole timeout; "
                    + "\(receipts.count) of \(messages.count) messages were enqueued. Offer the rest again later.")
            error.receipts = receipts
            return error
        }

        // A producer that comes while others wait may not overtake them.
        if !lines.isWaiting(for: queue) {
            try await offerRest()
            if rest.isEmpty { return receipts }
        }
        let place = lines.join(queue)
        defer { lines.leave(place) }
        do {
            try await within(deadline) { try await self.lines.reachHead(place) }
            while true {
                // The token comes before the offer: a ring in between is not lost.
                let token = storage.changes.token(for: queue)
                try await offerRest()
                if rest.isEmpty { return receipts }
                try await within(deadline) { [storage, time] in
                    try await firstOf([
                        { try await storage.changes.wait(for: queue, after: token) },
                        { try await time.sleep(for: storage.lookInterval) },
                    ])
                }
            }
        } catch is DeadlinePassed {
            throw timedOut()
        } catch var error as PenstockError {
            // What went in before stays, and its caller has to know.
            error.receipts = receipts
            throw error
        }
    }

    private struct DeadlinePassed: Error {}

    /// Waits, but not beyond `deadline`.
    private func within(_ deadline: BootTime?, _ wait: @escaping @Sendable () async throws -> Void) async throws {
        guard let deadline else { return try await wait() }
        guard let left = deadline.left(at: time.boot) else { throw DeadlinePassed() }
        try await firstOf([
            wait,
            { [time] in
                try await time.sleep(for: left)
                throw DeadlinePassed()
            },
        ])
    }
}
