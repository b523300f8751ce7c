public import PenstockCore

/// So many bytes of payload weigh as much as a row, so that a transaction is bounded in bytes as well.
let bytesInRow = 8192

extension SQLStore {
    /// About how many rows it is to write `messages`.
    func weight(of messages: [NewMessage]) -> Int {
        messages.count + messages.reduce(0) { $0 + $1.payload.count } / bytesInRow
    }

    /// About how many rows it is to carry out `settlements`.
    func weight(of settlements: [Settlement]) -> Int {
        settlements.reduce(settlements.count) { weight, settlement in
            weight + (settlement.result?.count ?? 0) / bytesInRow
                + (settlement.added.map { self.weight(of: $0.tasks) } ?? 0)
                + settlement.drafts.reduce(0) { $0 + 1 + $1.message.payload.count / bytesInRow }
        }
    }

    /// About how many rows it is to write `tasks`.
    func weight(of tasks: [NewTask]) -> Int {
        weight(of: tasks.map(\.message)) + tasks.reduce(0) { $0 + $1.dependencies.count }
    }

    /// Accepts messages, as ``MessageStore/enqueue(_:to:durability:)`` says, in one transaction with what else is asked for.
    public func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        try Task.checkCancellation()
        try NewMessage.validate(batch: messages, now: core.time.now)
        if messages.isEmpty { return [] }
        let call = PostedCall(messages, to: queue, durability: durability)
        return try await core.writer.perform(
            durability: durability, weight: weight(of: messages), posted: call.map { ($0, answer: { $0 }) },
            prefetch: { connection, _ in Enqueue.prefetch(connection) }
        ) { try Enqueue.perform(messages, to: queue, durability: durability, in: $0) }
    }

    /// Leases up to `limit` ready messages to the caller, by priority and then by sequence; fewer when their payloads
    /// have more than ``Limits/batchBytesMax`` bytes.
    public func claim(_ request: ClaimRequest) async throws -> Claim {
        guard case .claimed(let claim)? = try await perform([.claim(request)]).answers.first else {
            throw PenstockError(.storage, "The store gave no answer to a claim.")
        }
        return claim
    }

    /// Carries out verdicts, as ``MessageStore/settle(_:)`` says, in one transaction with what else is asked for.
    public func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        if settlements.isEmpty { return [] }
        try Settling.validate(settlements, now: core.time.now)
        return try await core.writer.perform(
            weight: weight(of: settlements), duringMove: .draining,
            prefetch: { connection, _ in try Settling.prefetch(settlements, connection) }
        ) { try Settling.perform(settlements, in: $0) }
    }

    /// Moves the ends of leases, as ``MessageStore/extend(_:)`` says. While it waits for a store that stalls, nobody takes
    /// this process's messages away because their leases have ended. What only asks is one read, which no writer waits for.
    public func extend(_ extensions: [LeaseExtension]) async throws -> [LeaseStanding] {
        if extensions.isEmpty { return [] }
        for wanted in extensions { try wanted.validate() }
        guard extensions.contains(where: \.changesSomething) else {
            return try await snapshots.read { connection in
                try extensions.map { try CancelRequests.standing(of: $0.lease, connection) }
            }
        }
        _ = core.suspension.isJustOver(at: core.time.boot)
        return try await core.worker.askingForMoreTime {
            try await core.writer.perform(weight: extensions.count, duringMove: .draining) { transaction in
                try extensions.map { try Settling.extend($0, in: transaction) }
            }
        }
    }

    /// Puts lost messages back in line, as ``MessageStore/reclaim()`` says: at once when the kernel has let go of their
    /// worker's lock, and otherwise when their lease has ended on the boot clock. Many messages are put back in steps, each a
    /// transaction of its own, so that others get their turn. What tasks of workflows have left to be told is told for a tenth of a
    /// second, and by the next call from there on.
    ///
    /// All that works with a store for long makes this call, so it is refused once a flush has failed. What runs can still be settled.
    public func reclaim() async throws -> Reclaimed {
        var reclaimed = Reclaimed()
        let cascadeEnd = core.time.boot + Reclaiming.cascadeTimeMax
        while true {
            let step = try await core.writer.perform(
                weight: Reclaiming.stepCount, duringMove: .draining,
                check: { [core] connection, _, now in
                    try core.requireStill()
                    try core.requireFlushes()
                    return try Reclaiming.check(
                        connection, at: core.time.boot, now, core.locks, core.suspension, core.leaseHorizon)
                },
                { [core] transaction in
                    try core.requireFlushes()
                    return try Reclaiming.perform(core.locks, core.suspension, in: transaction)
                })
            reclaimed.fromDeadWorkers += step.reclaimed.fromDeadWorkers
            reclaimed.fromExpiredLeases += step.reclaimed.fromExpiredLeases
            if step.hasMore || step.hasCascade && cascadeEnd.left(at: core.time.boot) != nil { continue }
            return reclaimed
        }
    }
}
