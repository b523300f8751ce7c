internal import PenstockCore

/// Offers tasks to the store again and again, while queues whose policy is `wait` have no room for those that are in line at once.
///
/// It stands in the line of one queue at a time, the first that has too little room, so that the process's other producers for
/// it neither overtake it nor wait for a queue that is not theirs.
struct RoomWait: Sendable {
    private let handle: StoreHandle
    /// How many tasks wait for none, by queue.
    private let roots: [QueueName: Int]

    /// The queue whose message the caller has in hand.
    private let own: QueueName?

    init(_ handle: StoreHandle, tasks: [NewTask], own: QueueName? = nil) {
        self.handle = handle
        self.own = own
        roots = tasks.reduce(into: [:]) { if $1.dependencies.isEmpty { $0[$1.queue, default: 0] += 1 } }
    }

    /// Calls `body`, and again when there may be room, as long as it throws `queueFull` for queues in which room is waited for.
    ///
    /// - Throws: what `body` throws; `timedOut`.
    func offer<Answer: Sendable>(
        _ timeout: Duration?, _ body: @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let deadline = timeout.map { handle.time.boot + $0 }
        var place: (queue: QueueName, place: ProducerLines.Place)?
        defer { if let place { handle.lines.leave(place.place) } }
        // A producer that comes while others wait may not overtake them.
        var full = roots.keys.sorted().first { $0 != own && handle.lines.count(for: $0) > 0 }
        do {
            while true {
                if let full, place?.queue != full {
                    if let place { handle.lines.leave(place.place) }
                    let joined = handle.lines.join(full)
                    place = (full, joined)
                    try await within(deadline, handle.time) { [handle] in try await handle.lines.reachHead(joined) }
                }
                // The token comes before the offer: a ring in between is not lost.
                let token = full.map { handle.storage.changes.token(for: $0) }
                do {
                    return try await body()
                } catch let error as PenstockError where error.code == .queueFull {
                    let next = try await queueToWaitFor(after: error)
                    if let full, let token, next == nil || next == full {
                        try await within(deadline, handle.time) { [handle] in
                            try await handle.waitForChange(of: full, after: token)
                        }
                    }
                    full = next ?? full ?? roots.keys.filter { $0 != own }.min()
                    if full == nil { throw error }
                }
            }
        } catch is DeadlinePassed {
            throw PenstockError(
                .timedOut,
                "The queue '\(full?.text ?? "")' was full for the whole timeout, and nothing was enqueued. Start it again "
                    + "later.")
        }
    }

    /// The first queue that has no room for its tasks; `nil` when all have by now.
    ///
    /// - Throws: `error` when one will not have it, or is not to be waited for.
    private func queueToWaitFor(after error: PenstockError) async throws -> QueueName? {
        var first: QueueName?
        for (queue, count) in roots.sorted(by: { $0.key < $1.key }) {
            guard let status = try await handle.storage.status(of: queue).queues.first,
                let capacity = status.policy.capacity, status.depths.waiting + count > capacity.count
            else { continue }
            switch capacity.whenFull {
            case .fail: throw error
            case .wait where count > capacity.count:
                throw PenstockError(
                    .queueFull,
                    "The queue '\(queue)' holds \(capacity.count), and \(count) tasks that wait for none are for it; give it "
                        + "more room, or have some of them wait for others.")
            case .wait where queue == own:
                // Room comes as messages of the queue are worked, and every worker could stand here with one.
                throw PenstockError(
                    .queueFull,
                    "The queue '\(queue)' is full, and a message of the same queue does not wait for room in it; give it more "
                        + "room, or add the tasks to another queue.")
            case .wait: first = first ?? queue
            default: continue
            }
        }
        return first
    }
}
