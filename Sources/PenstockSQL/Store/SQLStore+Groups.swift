public import PenstockCore

/// Groups, and limits that queues share.
extension SQLStore {
    /// Makes, changes or removes a limit that queues share, as ``MessageStore/setLimit(_:to:)`` says.
    public func setLimit(_ name: LimitName, to count: Int?) async throws {
        if let count { try LimitRecord.validate(count) }
        try await core.writer.perform(durability: .powerLoss) { try Configuring.setLimit(name, to: count, in: $0) }
    }

    /// Gives the permits of a queue's groups out anew, in steps: its policy has changed, or a group was paused. Should the process
    /// die between two steps, claims go on.
    func regroup(_ queue: QueueName) async throws {
        var isSettled = false
        while !isSettled {
            try await core.afterStep?()
            do {
                isSettled = try await core.writer.perform(weight: Limits.regroupCountMax * 4) { transaction in
                    let account = try transaction.account(of: queue)
                    if account.isDeleting { return true }
                    return try Groups.settle(account, in: transaction)
                }
            } catch let error as PenstockError where error.code == .unknownQueue {
                return
            }
        }
    }
}
