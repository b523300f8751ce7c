public import PenstockCore

/// Groups, and limits that queues share.
extension SQLStore {
    /// Makes, changes or removes a limit that queues share, as ``MessageStore/setLimit(_:to:)`` says.
    public func setLimit(_ name: LimitName, to count: Int?) async throws {
        if let count { try LimitRecord.validate(count) }
        try await core.writer.perform(durability: .powerLoss) { transaction in
            try Configuring.setLimit(name, to: count, in: transaction)
        }
    }

    /// Reads the limits that queues share, as ``MessageStore/limits()`` says.
    public func limits() async throws -> [LimitRecord] {
        try await core.read { connection in try GroupReader.limits(connection) }
    }

    /// When the first message of a queue expires, as ``MessageStore/nextExpiry(of:)`` says.
    public func nextExpiry(of queue: QueueName) async throws -> Timestamp? {
        try await core.read { connection in try ExpiryRows.first(of: queue, connection) }
    }

    /// Counts dead letters that cannot be redriven, as ``MessageStore/deadWithoutKeyCount(of:group:)`` says.
    public func deadWithoutKeyCount(of queue: QueueName, group: String?) async throws -> Int {
        if let group { try GroupKey.validate(group) }
        let now = core.time.now
        return try await core.read { connection in
            try UniqueKeys.deadWithoutKeyCount(of: queue, group: group, at: now, connection)
        }
    }

    /// Reads groups, as ``MessageStore/groups(_:)`` says.
    public func groups(_ query: GroupQuery) async throws -> [GroupRecord] {
        try query.validate()
        let now = core.time.now
        return try await core.read { connection in try GroupReader.groups(query, at: now, connection) }
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
