package import PenstockCore

/// A transaction of the application's own in which calls of the store are carried out, whatever the engine.
///
/// Each call is a part of it, and undone alone when it throws. The application commits it.
package protocol JoinableTransaction {
    /// The store's clock.
    var time: any TimeSource { get }

    /// What its commit survives.
    var durability: Durability { get throws }

    /// Runs `body` as a part of the transaction, and undoes it alone when it throws.
    ///
    /// - Parameter duringMove: when it is done though the queues move to another store.
    func join<T>(duringMove: Departure.Allowance, _ body: (Transaction) throws -> T) throws -> T

    /// Reads what the transaction sees.
    func read<T>(_ body: (Connection) throws -> T) throws -> T
}

extension Transaction {
    /// Runs `body` as a part of the transaction, and undoes it alone when it throws. All of it is written down at once: a savepoint of
    /// the application's may take it back.
    package func part<T>(_ body: (Transaction) throws -> T) throws -> T {
        try nested {
            let value = try body(self)
            try Cascade.writeDown(in: self)
            try writeDown()
            return value
        }
    }
}

extension JoinableTransaction {
    /// Accepts messages. A full queue with policy `wait` cannot wait here, and fails like `fail`.
    ///
    /// - Throws: ``PenstockError`` as ``MessageStore/enqueue(_:to:durability:)``; then nothing of the call was written.
    package func enqueue(_ messages: [NewMessage], to queue: QueueName) throws -> [Receipt] {
        try NewMessage.validate(batch: messages, now: time.now)
        return try join(duringMove: .nothing) { transaction in
            let receipts = try Enqueue.perform(messages, to: queue, durability: durability, in: transaction)
            guard receipts.count == messages.count else {
                throw PenstockError(.queueFull, "The queue '\(queue)' is full, and a transaction cannot wait for room.")
            }
            return receipts
        }
    }

    /// Carries out verdicts on leased messages. With what the application writes beside them in the same transaction, the effects of a
    /// message happen once: both are there, or neither.
    ///
    /// - Throws: ``PenstockError`` as ``MessageStore/settle(_:)``; then nothing of the call was written.
    package func settle(_ settlements: [Settlement]) throws -> [SettleResult] {
        try Settling.validate(settlements, now: time.now)
        return try join(duringMove: .draining) { try Settling.perform(settlements, in: $0) }
    }

    /// Starts a workflow. It begins when the application's transaction commits, and only then.
    ///
    /// - Throws: ``PenstockError`` as ``MessageStore/start(_:durability:)``; then nothing of the call was written.
    package func start(_ workflow: NewWorkflow) throws -> StartedWorkflow {
        try workflow.validate(now: time.now)
        return try join(duringMove: .nothing) { try Workflows.start(workflow, durability: durability, in: $0) }
    }

    /// Tells a message, or all tasks of a workflow, of an event. Those that wait for it go on when the transaction commits.
    ///
    /// - Returns: whether it is the first of its name.
    /// - Throws: ``PenstockError`` as ``MessageStore/emit(_:to:durability:)``; then nothing of the call was written.
    package func emit(_ event: NewEvent, to target: EventTarget) throws -> Bool {
        try event.validate()
        return try join(duringMove: .nothing) { try Events.emit(event, to: target, durability: durability, in: $0) }
    }

    /// Records what a step of a handler gave. With what the application writes beside it in the same transaction, the step happens once:
    /// both are there, or neither.
    ///
    /// - Throws: ``PenstockError`` as ``MessageStore/record(_:result:on:extendingBy:durability:)``; then nothing of the call was
    ///   written.
    package func record(_ step: StepName, result: [UInt8], on lease: Lease) throws -> StepRecord {
        try StepRecord.validate(result)
        return try join(duringMove: .draining) {
            try Journals.record(step, result, on: lease, extendingBy: nil, in: $0)
        }
    }

    /// What the transaction sees on record of a message.
    package func journal(of sequence: SequenceNumber) throws -> MessageJournal {
        try read { try Journals.journal(of: sequence, $0) }
    }

    package func tasks(_ query: TaskQuery) throws -> [TaskRecord] {
        try read { try WorkflowReading.tasks(query, $0) }
    }
}
