package import PenstockCore
import Synchronization

/// A store that notes what each call that writes is to survive.
package final class NotingStore: ForwardingStore {
    package let base: any MessageStore
    private let noted = Mutex<[(call: StoreCall, durability: Durability)]>([])

    package init(_ base: any MessageStore) { self.base = base }

    /// What the calls of that kind were to survive, in their order. An operation among others counts as a call.
    package func durabilities(of call: StoreCall) -> [Durability] {
        noted.withLock { $0.filter { $0.call == call }.map(\.durability) }
    }

    /// What was called since this was asked the last time, such as `enqueue powerLoss`.
    package func take() -> [String] {
        noted.withLock { noted in
            defer { noted = [] }
            return noted.map { "\($0.call) \($0.durability)" }
        }
    }

    private func note(_ call: StoreCall, _ durability: Durability) { noted.withLock { $0.append((call, durability)) } }

    package func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        note(.enqueue, durability)
        return try await base.enqueue(messages, to: queue, durability: durability)
    }

    package func append(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability
    ) async throws -> [Receipt] {
        note(.append, durability)
        return try await base.append(messages, to: queue, unless: cursor, durability: durability)
    }

    package func start(_ workflow: NewWorkflow, durability: Durability) async throws -> StartedWorkflow {
        note(.start, durability)
        return try await base.start(workflow, durability: durability)
    }

    package func record(
        _ step: StepName, result: [UInt8], on lease: Lease, extendingBy duration: Duration?, durability: Durability
    ) async throws -> StepRecord {
        note(.record, durability)
        return try await base.record(
            step, result: result, on: lease, extendingBy: duration, durability: durability)
    }

    package func emit(_ event: NewEvent, to target: EventTarget, durability: Durability) async throws -> Bool {
        note(.emit, durability)
        return try await base.emit(event, to: target, durability: durability)
    }
}
