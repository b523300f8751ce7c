public import PenstockCore
import PenstockWire

/// What comes in line, and what is moved by hand.
extension RemoteStore {
    /// Accepts messages.
    public func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] { try await answer(to: RemoteCalls.enqueue.request(messages, queue, durability)) }

    /// Accepts messages into the log and no further.
    public func append(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability
    ) async throws -> [Receipt] {
        try await answer(to: RemoteCalls.append.request(messages, queue, cursor, durability))
    }

    /// Moves messages by hand.
    public func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try await answer(to: RemoteCalls.apply.request(command, selection))
    }

    /// Counts what a command would move.
    public func count(_ selection: Selection, for command: LineCommand) async throws -> Int {
        try await answer(to: RemoteCalls.count.request(selection, command))
    }

    /// Counts dead letters whose keys others have.
    public func deadWithoutKeyCount(of queue: QueueName, group: String?) async throws -> Int {
        try await answer(to: RemoteCalls.deadWithoutKeyCount.request(queue, group))
    }

    /// Has ``changes`` ring when a message ends.
    public func expectEnd(of sequence: SequenceNumber) async throws -> MessageState {
        try await answer(to: RemoteCalls.expectEnd.request(sequence))
    }

    /// Forgets ended messages.
    public func prune(_ request: PruneRequest) async throws -> Pruned {
        try await answer(to: RemoteCalls.prune.request(request))
    }

    /// Accepts the messages of a workflow.
    public func start(_ workflow: NewWorkflow, durability: Durability) async throws -> StartedWorkflow {
        try await answer(to: RemoteCalls.start.request(workflow, durability))
    }

    /// Cancels a workflow.
    public func cancel(_ workflow: WorkflowName) async throws -> Int {
        try await answer(to: RemoteCalls.cancel.request(workflow))
    }

    /// Records what a step gave.
    public func record(
        _ step: StepName, result: [UInt8], on lease: Lease, extendingBy duration: Duration?, durability: Durability
    ) async throws -> StepRecord {
        try await answer(to: RemoteCalls.record.request(step, result, lease, duration, durability)) { record in
            if let duration { held.extend(lease, by: duration, keepsLonger: false) }
            return record
        }
    }

    /// Tells of an event.
    public func emit(_ event: NewEvent, to target: EventTarget, durability: Durability) async throws -> Bool {
        try await answer(to: RemoteCalls.emit.request(event, target, durability))
    }
}
