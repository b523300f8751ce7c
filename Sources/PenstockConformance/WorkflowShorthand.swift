import PenstockCore
import Testing

extension WorkflowName {
    /// The workflow that most cases use.
    static let flow = WorkflowName(stored: "flow")

    static func named(_ text: String) -> WorkflowName { WorkflowName(stored: text) }
}

extension TaskName {
    static func named(_ text: String) -> TaskName { TaskName(stored: text) }
}

extension StepName {
    static func named(_ text: String) -> StepName { StepName(stored: text) }
}

extension EventName {
    static func named(_ text: String) -> EventName { EventName(stored: text) }
}

extension NewTask {
    /// A task whose payload is its name.
    static func of(
        _ name: String, queue: QueueName = .jobs, due: Due = .now, after dependencies: [Dependency] = []
    ) -> NewTask {
        NewTask(.named(name), queue: queue, message: .text(name, due: due), dependencies: dependencies)
    }
}

extension MessageStore {
    @discardableResult
    func begin(tasks: [NewTask]) async throws -> StartedWorkflow {
        try await start(NewWorkflow(.flow, tasks: tasks), durability: .processCrash)
    }

    /// Starts a workflow of tasks, each with those that it waits for to be done.
    @discardableResult
    func begin(_ tasks: [(String, [String])], _ name: String = "flow") async throws -> StartedWorkflow {
        try await start(
            NewWorkflow(.named(name), tasks: tasks.map { .of($0, after: $1.map { Dependency(on: .named($0)) }) }),
            durability: .processCrash)
    }

    /// Starts a workflow of two tasks: one that is due in a minute, and one that waits for it.
    @discardableResult
    func beginLater(_ first: String, then second: String) async throws -> [SequenceNumber] {
        let tasks: [NewTask] = [
            .of(first, due: .after(.seconds(60))), .of(second, after: [Dependency(on: .named(first))]),
        ]
        return try await start(NewWorkflow(tasks: tasks), durability: .processCrash).receipts.map(\.sequence)
    }

    /// Tells of an event. Gives whether it is the first of its name.
    func tell(_ event: String, _ payload: [UInt8] = [], to target: EventTarget) async throws -> Bool {
        try await emit(NewEvent(.named(event), payload: payload), to: target, durability: .processCrash)
    }

    /// Claims all that are ready, and then finishes them. Gives their texts.
    func drainDone(_ queue: QueueName = .jobs) async throws -> [String] {
        var claimed: [ClaimedMessage] = []
        while true {
            let messages = try await take(1000, from: queue)
            if messages.isEmpty { break }
            claimed += messages
        }
        _ = try await settle(claimed.map { Settlement($0.lease, .done) })
        return claimed.map(\.text)
    }
}
