import Penstock
import PenstockCore
import PenstockSQL

/// The transaction as queues, deliveries and the store join it.
struct JoinedTransaction: ApplicationTransaction {
    let transaction: PostgresTransaction

    var storage: any MessageStore { transaction.storage }

    private var now: Timestamp { transaction.core.time.now }

    func enqueue(_ messages: [NewMessage], to queue: QueueName) throws -> [Receipt] {
        try NewMessage.validate(batch: messages, now: now)
        return try transaction.join {
            let receipts = try Enqueue.perform(messages, to: queue, durability: transaction.durability, in: $0)
            guard receipts.count == messages.count else {
                throw PenstockError(.queueFull, "The queue '\(queue)' is full, and a transaction cannot wait for room.")
            }
            return receipts
        }
    }

    func settle(_ settlements: [Settlement]) throws -> [SettleResult] {
        try Settling.validate(settlements, now: now)
        let results = try transaction.join(duringMove: .draining) { try Settling.perform(settlements, in: $0) }
        transaction.noteSettled(settlements.map(\.lease))
        return results
    }

    func start(_ workflow: NewWorkflow) throws -> StartedWorkflow {
        try workflow.validate(now: now)
        return try transaction.join { try Workflows.start(workflow, durability: transaction.durability, in: $0) }
    }

    func emit(_ event: NewEvent, to target: EventTarget) throws -> Bool {
        try event.validate()
        return try transaction.join { try Events.emit(event, to: target, durability: transaction.durability, in: $0) }
    }

    func record(_ step: StepName, result: [UInt8], on lease: Lease) throws -> StepRecord {
        try StepRecord.validate(result)
        return try transaction.join(duringMove: .draining) {
            try Journals.record(step, result, on: lease, extendingBy: nil, in: $0)
        }
    }

    func journal(of sequence: SequenceNumber) throws -> MessageJournal {
        try transaction.read { try Journals.journal(of: sequence, $0) }
    }

    func tasks(_ query: TaskQuery) throws -> [TaskRecord] {
        try transaction.read { try WorkflowReading.tasks(query, $0) }
    }

    func whenEnded(
        committed: @escaping @Sendable (_ isHeld: (Lease) -> Bool) -> Void, rolledBack: @escaping @Sendable () -> Void
    ) {
        transaction.whenEnded(committed: committed, rolledBack: rolledBack)
    }
}
