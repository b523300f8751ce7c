public import PenstockCore

extension SQLStore {
    /// Which store this is, as ``MessageStore/storeID()`` says. Reads one row, and writes it the first time.
    public func storeID() async throws -> StoreID? {
        if let known = try await snapshots.read({ try StoreIdentity.read($0) }) { return known }
        do {
            return try await core.writer.perform(durability: .powerLoss, duringMove: .all) {
                try StoreIdentity.give(in: $0)
            }
        } catch let error as PenstockError where error.code == .readOnly {
            return nil
        }
    }

    /// Makes, changes or removes a queue, as ``MessageStore/configure(_:_:)`` says.
    public func configure(_ queue: QueueName, _ change: QueueChange) async throws {
        switch change {
        case .create(let policy, _), .set(let policy, _): try policy.validate()
        case .pauseGroup(let key), .resumeGroup(let key): try GroupKey.validate(key)
        case .setGroupWeight(let key, let weight): try GroupKey.validate(key, weight: weight)
        case .pause, .resume: break
        case .delete(let force): return try await delete(queue, force: force)
        }
        try await core.writer.perform(durability: .powerLoss) { try Configuring.perform(change, of: queue, in: $0) }
        switch change {
        case .set, .pauseGroup, .resumeGroup:
            do {
                try await regroup(queue)
            } catch var error as PenstockError {
                error.tell("The change is made, and workers do the rest.")
                throw error
            }
        case .create, .pause, .resume, .setGroupWeight, .delete: break
        }
    }

    /// Deletes a queue in steps. A crash between two of them leaves a queue that says that it is being deleted, with fewer
    /// messages, and the call can be made again.
    private func delete(_ queue: QueueName, force: Bool) async throws {
        try await core.writer.perform { try Deleting.begin(queue, force: force, in: $0) }
        do {
            try await deleteMessages(of: queue, force: force)
        } catch var error as PenstockError where error.mayPass {
            error.tell("The queue is being deleted, and takes no messages: delete it again.")
            throw error
        }
        try await finishCascade()
        try await giveBack(all: true)
    }

    private func deleteMessages(of queue: QueueName, force: Bool) async throws {
        while true {
            try await core.afterStep?()
            let step = try await core.writer.perform(durability: .powerLoss, weight: Commanding.stepMax) {
                try Deleting.step(queue, force: force, limit: Commanding.stepMax, in: $0)
            }
            switch step {
            case .goesOn: continue
            case .isRefused(let openCount): throw Deleting.refusal(queue, openCount: openCount)
            case .isGone: return
            }
        }
    }

    /// Has the end of a message rung for, as ``MessageStore/expectEnd(of:)`` says, in one transaction with what else is asked for.
    public func expectEnd(of sequence: SequenceNumber) async throws -> MessageState {
        try Task.checkCancellation()
        return try await core.writer.perform(weight: 1) { try AwaitedEnds.expect(sequence, in: $0) }
    }

    /// Forgets ended messages beyond their queue's retention: one small step. When it is the last one, the pages that
    /// have come free are given back to the file system, also in small steps. Where no queue has anything to forget that is one
    /// reading, and no transaction.
    public func prune(_ request: PruneRequest) async throws -> Pruned {
        try request.validate()
        let limit = min(request.limit, Pruning.stepMax)
        var pruned = Pruned()
        var place: RetentionLook.Place?
        let now = core.time.now
        let due: [QueueName]
        if let queue = request.queue {
            due = [queue]
        } else {
            due = try await snapshots.read { try Prunable.queues(for: request, at: now, $0) }
        }
        let known = request.passesKept ? core.keptTasks.places(at: core.time.boot) : [:]
        // More than one transaction only when many tasks are passed over.
        repeat {
            var rest = request
            rest.limit = limit - pruned.messages
            let step = try await core.writer.perform(
                weight: limit * 4,
                check: { connection, _, _ -> Pruning.Step? in
                    // A store that was left says so.
                    guard due.isEmpty, try Departure.read(connection) == nil else { return nil }
                    return Pruning.Step(pruned: Pruned())
                },
                { [rest, place] transaction in
                    try Pruning.perform(rest, of: due, besides: known, from: place, in: transaction)
                })
            if request.retention == nil { core.keptTasks.note(step.kept) }
            pruned.messages += step.pruned.messages
            pruned.hasMore = step.pruned.hasMore
            place = step.place
            if place != nil { try await core.afterStep?() }
        } while place != nil
        if pruned.messages > 0 { try await giveBack(all: !pruned.hasMore) }
        return pruned
    }

    /// Gives room that has come free back to the system, a little at a time so that writers get their turn: one step, or all.
    private func giveBack(all: Bool) async throws {
        guard let giveBack = core.giveBack else { return }
        repeat {
            let hasMore = try await core.writer.perform(weight: SQLStoreCore.giveBackWeight) {
                try giveBack($0.connection)
            }
            if !hasMore { return }
        } while all
    }
}

/// The store as a keeper of logs: messages that are read and not worked, and the places of their readers.
extension SQLStore {
    /// Accepts messages that end as they are accepted, as ``MessageStore/append(_:to:unless:durability:)`` says, in one
    /// transaction with what else is asked for.
    public func append(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability
    ) async throws -> [Receipt] {
        try Task.checkCancellation()
        try NewMessage.validate(appended: messages, now: core.time.now)
        if messages.isEmpty { return [] }
        return try await core.writer.perform(durability: durability, weight: weight(of: messages)) {
            try Appending.perform(messages, to: queue, unless: cursor, durability: durability, in: $0)
        }
    }

    /// Places, moves or removes a cursor, as ``MessageStore/moveCursor(_:of:_:)`` says.
    @discardableResult
    public func moveCursor(
        _ cursor: CursorName, of queue: QueueName, _ move: CursorMove
    ) async throws -> CursorRecord? {
        try move.validate()
        var durability: Durability? = .powerLoss
        // Losing an advance means that somebody reads a few messages again.
        if case .advance = move { durability = nil }
        return try await core.writer.perform(durability: durability) {
            try Cursors.perform(move, cursor, of: queue, in: $0)
        }
    }
}

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
