internal import PenstockCore

/// Offers messages for several queues, all or none, to the store again and again, while queues whose policy is `wait` have no room
/// for those that are in line at once.
///
/// It stands in the line of one queue at a time, the first that has too little room, so that the process's other producers for
/// it neither overtake it nor wait for a queue that is not theirs.
struct RoomWait: Sendable {
    private let handle: StoreHandle
    /// How many messages are to be in line at once, by queue.
    private let counts: [QueueName: Int]
    /// The queue whose message the caller has in hand, and the others that it works.
    private let own: Set<QueueName>
    /// Whether room is waited for in queues whose policy is `fail` as well.
    private let outwaitsFail: Bool
    /// Throws when the message that the caller has in hand is lost; `nil`: the caller has none, or learns of it otherwise.
    private let loss: (@Sendable () async throws -> Void)?

    /// Makes a wait for room for those of `tasks` that wait for none, and for `drafts`.
    init(
        _ handle: StoreHandle, tasks: [NewTask] = [], drafts: [Draft] = [], own: Set<QueueName> = [],
        outwaitsFail: Bool = false, loss: (@Sendable () async throws -> Void)? = nil
    ) {
        self.handle = handle
        self.own = own
        self.outwaitsFail = outwaitsFail
        self.loss = loss
        let queues = tasks.filter(\.dependencies.isEmpty).map(\.queue) + drafts.map(\.queue)
        counts = queues.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    /// Calls `body`, and again when there may be room, as long as it throws `queueFull` for queues in which room is waited for.
    ///
    /// - Throws: what `body` throws; `timedOut`; `leaseLost` when the message in hand is lost as it waits.
    func offer<Answer: Sendable>(
        _ timeout: Duration?, _ body: @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let deadline = timeout.map { handle.time.boot + $0 }
        var place: (queue: QueueName, place: ProducerLines.Place)?
        defer { if let place { handle.lines.leave(place.place) } }
        // A producer that comes while others wait may not overtake them.
        var full = counts.keys.sorted().first { !own.contains($0) && handle.lines.count(for: $0) > 0 }
        do {
            while true {
                if let full, place?.queue != full {
                    if let place { handle.lines.leave(place.place) }
                    let joined = handle.lines.join(full)
                    place = (full, joined)
                    try await wait(until: deadline) { [handle] in try await handle.lines.reachHead(joined) }
                }
                // The token comes before the offer: a ring in between is not lost.
                let token = full.map { handle.storage.changes.token(for: $0) }
                do {
                    return try await body()
                } catch let error as PenstockError where error.code == .queueFull {
                    let next = try await queueToWaitFor(after: error)
                    if let full, let token, next == nil || next == full {
                        try await wait(until: deadline) { [handle] in
                            try await handle.waitForRoom(in: full, after: token)
                        }
                    }
                    full = next ?? full ?? counts.keys.filter { !own.contains($0) }.min()
                    if full == nil { throw error }
                }
            }
        } catch is DeadlinePassed {
            throw PenstockError(
                .timedOut,
                "The queue '\(full?.text ?? "")' was full for the whole timeout, and nothing was enqueued. Try again "
                    + "later.")
        }
    }

    private func wait(
        until deadline: BootTime?, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard let loss else { return try await within(deadline, handle.time, body) }
        try await within(deadline, handle.time) { try await firstOf([body, loss]) }
    }

    /// The first queue that has no room for its messages; `nil` when all have by now.
    ///
    /// - Throws: `error` when one will not have it, or is not to be waited for.
    private func queueToWaitFor(after error: PenstockError) async throws -> QueueName? {
        var first: QueueName?
        for (queue, count) in counts.sorted(by: { $0.key < $1.key }) {
            guard let status = try await handle.storage.status(of: queue).queues.first,
                let capacity = status.policy.capacity, status.depths.waiting + count > capacity.count
            else { continue }
            switch capacity.whenFull {
            case .dropOldest, .dropNewest: continue
            case .fail where !outwaitsFail: throw error
            case .fail, .wait: break
            }
            if count > capacity.count {
                throw PenstockError(
                    .queueFull,
                    "The queue '\(queue)' holds \(capacity.count), and \(count) messages are for it at once; give it more room, or "
                        + "have it get fewer at a time.")
            }
            if own.contains(queue) {
                // Room comes as messages of the queue are worked, and every worker could stand here with one.
                throw PenstockError(
                    .queueFull,
                    "The queue '\(queue)' is full, and a worker does not wait for room in a queue that it works itself; give it "
                        + "more room, or have what follows go to another queue.")
            }
            first = first ?? queue
        }
        return first
    }
}
