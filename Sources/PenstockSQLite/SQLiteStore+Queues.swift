import GRDB
public import PenstockCore

extension SQLiteStore {
    /// Reads messages, as ``MessageStore/messages(_:)`` says, in one snapshot that writers do not wait for.
    public func messages(_ query: MessageQuery) async throws -> [MessageRecord] {
        try query.validate()
        return try await read { database in try MessageReader.messages(query, database) }
    }

    /// Counts what the store holds, as ``MessageStore/status(of:)`` says. Reads counters, and counts no rows.
    public func status(of queue: QueueName?) async throws -> StoreStatus {
        let folder = folder
        let boot = time.boot
        return try await read { database in
            StoreStatus(
                queues: try QueueReader.queues(queue, database),
                workers: try QueueReader.workers(database, boot: boot, folder))
        }
    }

    /// Makes, changes or removes a queue, as ``MessageStore/configure(_:_:)`` says.
    public func configure(_ queue: QueueName, _ change: QueueChange) async throws {
        switch change {
        case .create(let policy, _), .set(let policy): try policy.validate()
        case .pause, .resume: break
        case .delete(let force): return try await delete(queue, force: force)
        }
        try await writer.perform(durability: .powerLoss) { transaction in
            try Configuring.perform(change, of: queue, in: transaction)
        }
    }

    /// Deletes a queue in steps. A crash between two of them leaves the queue paused, with fewer messages, and the
    /// call can be made again.
    private func delete(_ queue: QueueName, force: Bool) async throws {
        try await writer.perform { transaction in
            try Configuring.beginDeletion(of: queue, force: force, in: transaction)
        }
        var isGone = false
        while !isGone {
            isGone = try await writer.perform(durability: .powerLoss, weight: Commanding.stepMax) { transaction in
                try Configuring.deleteStep(of: queue, limit: Commanding.stepMax, in: transaction)
            }
        }
        try await giveBackPages()
    }

    /// Moves messages by hand, as ``MessageStore/apply(_:to:)`` says.
    public func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try selection.validate()
        switch selection {
        case .sequences(let sequences):
            return try await writer.perform(durability: .powerLoss, weight: sequences.count) { transaction in
                try Commanding.perform(command, on: sequences, in: transaction)
            }
        case .queue(let queue, let states, let limit):
            let able = states.intersection(command.states)
            var moved = 0
            var cursor: Int64 = 0
            repeat {
                let left = (limit ?? .max) - moved
                let from = cursor
                let step = try await writer.perform(durability: .powerLoss, weight: Commanding.stepMax) { transaction in
                    try Commanding.step(command, on: queue, in: able, after: from, limit: left, transaction)
                }
                moved += step.moved
                cursor = step.cursor
            } while cursor != .max && moved < limit ?? .max
            return moved
        }
    }

    /// Forgets ended messages, as ``MessageStore/prune(_:)`` says, and gives pages back to the file system.
    public func prune(_ request: PruneRequest) async throws -> Pruned {
        try request.validate()
        let pruned = try await writer.perform(weight: request.limit * 4) { transaction in
            try Pruning.perform(request, in: transaction)
        }
        if pruned.messages > 0 { try await giveBackPages() }
        return pruned
    }

    /// Gives free pages back to the file system, a few at a time so that writers get their turn.
    private func giveBackPages() async throws {
        try await writer.perform { transaction in
            let statement = try transaction.connection.statement(Self.vacuum)
            defer { statement.reset() }
            while try statement.step() {}
        }
    }

    private func read<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        do {
            return try await access.pool.read(body)
        } catch {
            throw StorageErrors.translated(error, path: access.path)
        }
    }

    // Each row of the answer is one page: 1000 pages are 4 MiB.
    private static let vacuum = Query("PRAGMA incremental_vacuum(1000)")
}
