public import PenstockCore
import PenstockProcesses

extension SQLiteStore {
    /// So many bytes of payload weigh as much as a row, so that a transaction is bounded in bytes as well.
    private static let bytesInRow = 8192

    /// About how many rows it is to write `messages`.
    func weight(of messages: [NewMessage]) -> Int {
        messages.count + messages.reduce(0) { $0 + $1.payload.count } / Self.bytesInRow
    }

    /// Accepts messages, as ``MessageStore/enqueue(_:to:durability:)`` says, in one transaction with what else is asked for.
    public func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        try Task.checkCancellation()
        try NewMessage.validate(batch: messages, now: time.now)
        if messages.isEmpty { return [] }
        let remoteCall = RemoteCall(messages, to: queue, durability: durability)
        return try await writer.perform(
            durability: durability, weight: weight(of: messages), remoteCall: remoteCall
        ) { transaction in
            try Enqueue.perform(messages, to: queue, durability: durability, in: transaction)
        }
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
        for settlement in settlements { try settlement.validate() }
        return try await writer.perform(weight: settlements.count) { transaction in
            try Settling.perform(settlements, in: transaction)
        }
    }

    /// Moves the ends of leases, as ``MessageStore/extend(_:by:)`` says. While it waits for a store that stalls, nobody takes
    /// this process's messages away because their leases have ended.
    public func extend(_ leases: [Lease], by duration: Duration) async throws -> [Bool] {
        if leases.isEmpty { return [] }
        try Lease.validate(duration)
        _ = suspension.isJustOver(at: time.boot)
        return try await moreTime.asking {
            try await writer.perform(weight: leases.count) { transaction in
                try leases.map { try Settling.extend($0, by: duration, in: transaction) }
            }
        }
    }

    /// Puts lost messages back in line, as ``MessageStore/reclaim()`` says: at once when the kernel has let go of their
    /// worker's lock, and otherwise when their lease has ended on the boot clock. Many messages are put back in steps, each a
    /// transaction of its own, so that others get their turn.
    public func reclaim() async throws -> Reclaimed {
        let folder = folder
        let time = time
        let suspension = suspension
        var reclaimed = Reclaimed()
        while true {
            let step = try await writer.perform(
                weight: Reclaiming.stepCount,
                check: { connection, _ in
                    let boot = time.boot
                    let sparesLiving = suspension.isJustOver(at: boot)
                    return try Reclaiming.check(connection, boot: boot, folder, sparesLiving: sparesLiving)
                },
                { transaction in
                    let sparesLiving = suspension.isJustOver(at: time.boot)
                    return try Reclaiming.perform(folder, sparesLiving: sparesLiving, in: transaction)
                })
            reclaimed.fromDeadWorkers += step.reclaimed.fromDeadWorkers
            reclaimed.fromExpiredLeases += step.reclaimed.fromExpiredLeases
            if !step.hasMore { return reclaimed }
        }
    }
}
