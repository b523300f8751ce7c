public import GRDB
public import PenstockCore
import PenstockProcesses
import PenstockSQL

/// The store within an application's own transaction, on the pool that it was opened on. What is done here is there when
/// that transaction commits, and only then. Workers are woken at the commit.
extension SQLiteStore {
    /// Accepts messages.
    ///
    /// The durability is that of the application's transaction; receipts say `powerLoss` when its connection is
    /// `synchronous = FULL`. A full queue with policy `wait` cannot wait here, and fails like `fail`.
    ///
    /// - Throws: ``PenstockError`` as ``MessageStore/enqueue(_:to:durability:)``, and `invalidInput` when `database` is
    ///   not in a transaction; then nothing of the call was written.
    public func enqueue(_ messages: [NewMessage], to queue: QueueName, in database: Database) throws -> [Receipt] {
        try NewMessage.validate(batch: messages, now: core.time.now)
        return try join(database) { transaction in
            let durability = try DatabaseAccess.durability(of: database)
            let receipts = try Enqueue.perform(messages, to: queue, durability: durability, in: transaction)
            guard receipts.count == messages.count else {
                throw PenstockError(.queueFull, "The queue '\(queue)' is full, and a transaction cannot wait for room.")
            }
            return receipts
        }
    }

    /// Carries out verdicts on leased messages. With what the application writes beside them in the same transaction,
    /// the effects of a message happen once: both are there, or neither.
    ///
    /// - Throws: ``PenstockError`` as ``MessageStore/settle(_:)``, and `invalidInput` when `database` is not in a
    ///   transaction; then nothing of the call was written.
    public func settle(_ settlements: [Settlement], in database: Database) throws -> [SettleResult] {
        try Settling.validate(settlements, now: core.time.now)
        return try join(database, duringMove: .draining) { transaction in
            try Settling.perform(settlements, in: transaction)
        }
    }

    /// Starts a workflow. It begins when the application's transaction commits, and only then.
    ///
    /// - Throws: ``PenstockError`` as ``MessageStore/start(_:durability:)``, and `invalidInput` when `database` is not in a
    ///   transaction; then nothing of the call was written.
    public func start(_ workflow: NewWorkflow, in database: Database) throws -> StartedWorkflow {
        try workflow.validate(now: core.time.now)
        return try join(database) { transaction in
            let durability = try DatabaseAccess.durability(of: database)
            return try Workflows.start(workflow, durability: durability, in: transaction)
        }
    }

    /// Records what a step of a handler gave. With what the application writes beside it in the same transaction, the step
    /// happens once: both are there, or neither.
    ///
    /// - Throws: ``PenstockError`` as ``MessageStore/record(_:result:on:extendingBy:durability:)``, and `invalidInput` when `database` is
    ///   not in a transaction; then nothing of the call was written.
    public func record(
        _ step: StepName, result: [UInt8], on lease: Lease, in database: Database
    ) throws -> StepRecord {
        try StepRecord.validate(result)
        return try join(database, duringMove: .draining) { transaction in
            try Journals.record(step, result, on: lease, extendingBy: nil, in: transaction)
        }
    }

    /// Tells a message, or all tasks of a workflow, of an event. Those that wait for it go on when the application's
    /// transaction commits, and only then.
    ///
    /// - Returns: whether it is the first of its name.
    /// - Throws: ``PenstockError`` as ``MessageStore/emit(_:to:durability:)``, and `invalidInput` when `database` is not in a
    ///   transaction; then nothing of the call was written.
    public func emit(_ event: NewEvent, to target: EventTarget, in database: Database) throws -> Bool {
        try event.validate()
        return try join(database) { transaction in
            let durability = try DatabaseAccess.durability(of: database)
            return try Events.emit(event, to: target, durability: durability, in: transaction)
        }
    }

    /// What a message has left behind, within what the application's connection sees.
    package func journal(of sequence: SequenceNumber, in database: Database) throws -> MessageJournal {
        try Journals.journal(of: sequence, SQLiteConnection(database))
    }

    /// Reads tasks of a workflow, within what the application's connection sees.
    package func tasks(_ query: TaskQuery, in database: Database) throws -> [TaskRecord] {
        try WorkflowReading.tasks(query, SQLiteConnection(database))
    }

    /// Whether the lease is held now, within what the application's connection sees.
    package func isHeld(_ lease: Lease, in database: Database) throws -> Bool {
        try Settling.isHeld(lease, SQLiteConnection(database))
    }

    /// Runs `body` as part of the application's transaction, and undoes it alone when it throws.
    ///
    /// - Parameter duringMove: when it is done though the queues move to another store.
    private func join<T>(
        _ database: Database, duringMove: Departure.Allowance = .nothing, _ body: (Transaction) throws -> T
    ) throws -> T {
        try core.writer.refuseClosed()
        guard database.isInsideTransaction else {
            throw PenstockError(
                .invalidInput, "This joins a transaction, and there is none; begin one, as with `pool.write`.")
        }
        do {
            let transaction = try Transaction(
                SQLiteConnection(database), path: access.path, time: core.time, random: core.random,
                policies: PolicyCache())
            try transaction.departure?.refuse(unless: duringMove)
            let value = try transaction.nested {
                let value = try body(transaction)
                try Cascade.writeDown(in: transaction)
                try transaction.writeDown()
                return value
            }
            let rings = transaction.rings
            database.afterNextTransaction { [doorbell] _ in doorbell.ring(rings) }
            return value
        } catch {
            throw StorageErrors.translated(error, path: access.path)
        }
    }
}
